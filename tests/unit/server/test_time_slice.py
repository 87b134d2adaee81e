"""How soon the kernel is asked to run the node again."""

import platform
import subprocess
import sys
from collections.abc import Sequence

import pytest

from headrace.server import time_slice
from headrace.server.time_slice import shorten_time_slice, time_slice_ns

#: A process of its own: what it is given cannot be taken back without privileges.
_PROGRAM = """
import subprocess, sys, threading
from headrace.server.time_slice import shorten_time_slice, time_slice_ns

print(time_slice_ns())
shorten_time_slice()
print(time_slice_ns(), flush=True)
thread = threading.Thread(target=lambda: print(time_slice_ns(), flush=True))
thread.start()
thread.join()
asked = "from headrace.server.time_slice import time_slice_ns; print(time_slice_ns())"
subprocess.run([sys.executable, "-c", asked], check=True)
"""


def slices_of(prefix: Sequence[str] = ()) -> list[int]:
    """Before and after it is shortened, then of a thread and of a child process."""
    command = [*prefix, sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return [int(line) for line in done.stdout.split()]


def test_the_loop_alone_gets_short_turns_where_the_kernel_has_them() -> None:
    before, after, of_thread, of_child = slices_of()
    # Kernels before 6.12 say 0, and keep to it.
    assert after == (100_000 if before else 0)
    assert of_thread == of_child == before


def test_another_policy_stays_as_somebody_has_chosen_it() -> None:
    before, after, *_ = slices_of(["chrt", "--batch", "0"])
    assert after == before


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "s390x")])
def test_elsewhere_nothing_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(time_slice, "_system_call", lambda number, *_: calls.append(number))
    shorten_time_slice()
    assert time_slice_ns() == 0
    assert calls == []


def test_a_sandbox_that_refuses_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_slice, "_system_call", lambda *_: False)
    shorten_time_slice()
    assert time_slice_ns() == 0
