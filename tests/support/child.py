"""A server as a child process: started with its output in a file, stopped or killed."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class Child:
    """One child process; whoever starts it ends it."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running (or ended) process."""
        if self._process is None:
            raise AssertionError("the server was not started")
        return self._process

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Start the command; its output is appended to the output file."""
        if self.is_running:
            raise AssertionError("the server is already running")
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if env is None else {**os.environ, **env},
                # As a service or another terminal has it: Linux then shares the processors
                # between server and clients, not among the threads of all of them.
                start_new_session=True,
            )

    def stop(self, timeout: float = 60.0) -> int:
        """Ask it to end (SIGTERM) and wait; returns the exit code."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not stop within {timeout} s") from None

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        if self.is_running:
            self.process.kill()
        self.process.wait()
