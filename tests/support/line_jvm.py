"""A Java program of ours in one JVM, asked and answering line by line."""

import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.support.java import QUICK_JVM, java_command


class LineJvm:
    """Java compiles the single source file in memory, so there is nothing to build."""

    def __init__(self, source: Path, *, shows_errors: bool = True) -> None:
        self._process = subprocess.Popen(
            java_command(str(source), jvm=QUICK_JVM),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if shows_errors else subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _stdout(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def close(self) -> None:
        self._stdin.close()
        self._process.wait(timeout=30)
        self._stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
