"""An embedded node in a process of its own, which can be killed: the parent's side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from headrace.testing.node_handle import NodeAddresses, NodeStartError

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 60.0


class ChildNode:
    """Starts, stops and kills one child process at a time."""

    def __init__(self, work_dir: str, *, remove_if_orphaned: bool, log_level: str) -> None:
        self._remove = work_dir if remove_if_orphaned else None
        self._log_level = log_level
        #: What the node wrote to its standard error, over all its starts.
        self.log_path = os.path.join(work_dir, "node.log")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("The node has not been started.")
        return self._process.pid

    def start(self, data_dir: str, settings: Mapping[str, str], ahead_ms: int) -> NodeAddresses:
        # Not above: a test run that has the plugin but no node shall load nothing.
        from headrace.base.child_python import child_command

        order = {
            "data_dir": data_dir,
            "settings": dict(settings),
            "log_level": self._log_level,
            "remove": self._remove,
            "ahead_ms": ahead_ms,
        }
        with open(self.log_path, "ab") as log:
            # A session of its own: Ctrl-C in the terminal is for the tests, which end the node.
            self._process = process = subprocess.Popen(
                child_command("headrace.testing.node_process"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            answer = self._ask(process, order)
            if "error" in answer:
                raise NodeStartError(answer["error"])
        except BrokenPipeError as error:
            self.kill()
            raise NodeStartError(self._ended()) from error
        except BaseException:
            self.kill()
            raise
        return NodeAddresses(answer["bootstrap"], answer["ports"], answer["metrics"])

    def advance(self, elapsed_ms: int) -> None:
        if self._process is None:
            raise RuntimeError("The node has not been started.")
        self._ask(self._process, {"advance_ms": elapsed_ms})

    def stop(self) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"The node did not stop within {_STOP_TIMEOUT_S:.0f} s.") from None
        self._close_pipes(process)
        if code != 0:
            raise RuntimeError(f"The node ended with {code}: {self.log_tail()}")

    def kill(self) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        process.wait()
        self._close_pipes(process)

    def log_tail(self, bytes_max: int = 8192) -> str:
        """The end of what the node wrote."""
        try:
            with open(self.log_path, "rb") as log:
                log.seek(max(0, os.path.getsize(self.log_path) - bytes_max))
                return log.read().decode(errors="replace").strip()
        except FileNotFoundError:
            return ""

    def _ask(self, process: subprocess.Popen[bytes], order: dict[str, Any]) -> dict[str, Any]:
        assert process.stdin is not None  # noqa: S101 - it has pipes
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._answer(process))
        return answer

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes:
        """The line that says the node is up; polled, since a node may also hang or die."""
        # Not above either.
        from headrace.client.readable import is_readable

        assert process.stdout is not None  # noqa: S101 - it has pipes
        deadline = time.monotonic() + _START_TIMEOUT_S
        answer = b""
        while not answer.endswith(b"\n"):
            remaining = deadline - time.monotonic()
            if not is_readable(process.stdout.fileno(), remaining):
                raise NodeStartError(f"The node was not up after {_START_TIMEOUT_S:.0f} s.")
            part = os.read(process.stdout.fileno(), 65536)
            if not part:
                process.wait()
                raise NodeStartError(self._ended())
            answer += part
        return answer

    def _ended(self) -> str:
        code = self._process.returncode if self._process else None
        return f"The node ended with {code} before it was up: {self.log_tail()}"

    @staticmethod
    def _close_pipes(process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
