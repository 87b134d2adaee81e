"""`headrace pipelines stop`: ask the process of a run to end, and wait until it has."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Mapping

from headrace.cli.failure import CommandFailedError
from headrace.spark.pipelines.lock import Holder, holder_of
from headrace.spark.pipelines.state_directory import StateDirectory

_LOOK_SECONDS = 0.05


def stop(args: argparse.Namespace) -> int:
    """A run of several pipelines stops as one: they share a Spark session."""
    state = StateDirectory.find(args.state_dir)
    holders: dict[str, Holder] = {}
    for name in args.names:
        holder = holder_of(state.existing(name).lock)
        if holder is None or not holder.is_alive:
            print(f"{name} is not running.")
        else:
            holders[name] = holder
    for name, holder in _with_them(state, holders).items():
        print(f"{name} stops as well: it runs in the same process ({holder.pid}).")
        holders[name] = holder
    for holder in set(holders.values()):
        os.kill(holder.pid, signal.SIGTERM)
    for name, holder in holders.items():
        _wait(name, state.pipeline(name).lock, holder, args.timeout)
    return 0


def _with_them(state: StateDirectory, holders: Mapping[str, Holder]) -> dict[str, Holder]:
    """The other pipelines of the same processes."""
    found = {}
    for name in state.names():
        holder = None if name in holders else holder_of(state.pipeline(name).lock)
        if holder is not None and holder in holders.values():
            found[name] = holder
    return found


def _wait(name: str, lock: str, holder: Holder, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while holder_of(lock) == holder:
        if time.monotonic() > deadline:
            raise CommandFailedError(
                f"{name} (process {holder.pid}) has not stopped within {timeout:.0f} s: its batch"
                " still runs. Ask again, and it does not wait for the batch."
            )
        time.sleep(_LOOK_SECONDS)
    print(f"{name} has stopped.")
