"""Waiting for input, also on what a Mac's `poll` does not know."""

import os
import select
import sys

import pytest

from headrace.client.readable import is_readable


class DevicesUnknown:
    """What a Mac's `poll` says of a terminal."""

    def register(self, fd: int, events: int) -> None:
        self._fd = fd

    def poll(self, timeout_ms: float) -> list[tuple[int, int]]:
        return [(self._fd, select.POLLNVAL)]


@pytest.mark.parametrize("poll", [select.poll, DevicesUnknown])
def test_a_terminal_is_readable_once_somebody_has_typed(
    monkeypatch: pytest.MonkeyPatch, poll: type[DevicesUnknown]
) -> None:
    monkeypatch.setattr(select, "poll", poll)
    keyboard, terminal = os.openpty()
    try:
        assert not is_readable(terminal, 0)
        os.write(keyboard, b"typed\n")
        assert is_readable(terminal, 10)
    finally:
        os.close(keyboard)
        os.close(terminal)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other words for it")
def test_a_closed_descriptor_is_an_error() -> None:
    source, sink = os.pipe()
    os.close(source)
    os.close(sink)
    with pytest.raises(OSError, match="Bad file descriptor"):
        is_readable(source, 0)
