"""Apache Kafka's tools, many of them in one JVM: a second saved for each.

with ToolJvm() as tools:
    tools.run("TopicCommand", "--list", "--bootstrap-server", node.bootstrap)
"""

import base64
import subprocess
import threading
from types import TracebackType
from typing import Self

from tests.support.java import QUICK_JVM, ToolFailedError, java_command, main_class
from tests.support.tools import JAVA_SOURCES

_SOURCE = JAVA_SOURCES / "tools" / "ToolRunner.java"


class ToolJvm:
    """Runs tools through `ToolRunner.java`; `run` is `java_tool` without the start of a JVM."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            java_command(str(_SOURCE), jvm=(*QUICK_JVM, "-Xmx512m")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def run(
        self,
        name: str,
        *args: str,
        stdin: str | None = None,
        timeout: float = 60.0,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a tool to its end; unless `check` is off, a failure raises with its output."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        fields = [main_class(name), _encode(stdin or ""), *map(_encode, args)]
        # A tool that hangs takes the JVM with it, which ends the wait below.
        alarm = threading.Timer(timeout, process.kill)
        alarm.start()
        try:
            process.stdin.write("\t".join(fields) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        finally:
            alarm.cancel()
        command = f"{name} {' '.join(args)}"
        if not line:
            raise ToolFailedError(f"{command} did not end within {timeout} s")
        code, output, errors = line.rstrip("\n").split("\t")
        done = subprocess.CompletedProcess(command, int(code), _decode(output), _decode(errors))
        if check and done.returncode != 0:
            raise ToolFailedError(f"{command} ended with {code}\n{done.stdout}\n{done.stderr}")
        return done

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(field: str) -> str:
    return base64.b64decode(field).decode()
