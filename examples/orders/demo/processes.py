"""The demo's child processes: started with their output in files, and all of them ended again.

Each watches a pipe from the demo and ends with it, even if the demo is killed.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[3]
_STOP_SECONDS = 60
_LINES_SHOWN = 15


class ProcessError(Exception):
    """A process ended, or does not answer; the text has the end of its output."""


class Processes:
    """Python modules as processes, by name."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, module: str, *arguments: str) -> None:
        with self._log(name).open("wb") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", __spec__.name, module, *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                # Ctrl-C is for the demo, which ends them in its own time.
                start_new_session=True,
            )

    def check(self) -> None:
        """Raise ProcessError if one has ended by itself."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProcessError(
                    f"'{name}' ended with code {process.returncode}.\n{self._tail(name)}"
                )

    def wait_for(self, url: str, stop: threading.Event, seconds: float = 60) -> None:
        """Until the address answers."""
        deadline = time.monotonic() + seconds
        while not stop.wait(0.1):
            self.check()
            try:
                with urllib.request.urlopen(url, timeout=5):
                    return
            except OSError as error:  # an answer that is a failure is one, too
                if time.monotonic() > deadline:
                    raise ProcessError(f"{url} does not answer: {error}") from error

    def stop(self, *names: str) -> None:
        """End the named ones that run."""
        ending = [self._running.pop(name) for name in names if name in self._running]
        for process in ending:
            process.send_signal(signal.SIGTERM)
        for process in ending:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdin is not None
            process.stdin.close()

    def kill(self, name: str) -> None:
        """End it at once, as a crash would."""
        process = self._running.pop(name)
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _tail(self, name: str) -> str:
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LINES_SHOWN:])


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_input, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
