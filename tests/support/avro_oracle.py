"""Avro's own opinion on schemas, from one JVM that answers line by line (`AvroOracle.java`)."""

import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tests.support.java import QUICK_JVM, java_command
from tests.support.tools import JAVA_SOURCES

_SOURCE = JAVA_SOURCES / "oracle" / "AvroOracle.java"


class AvroOracle:
    """Questions are sent while answers are read, so thousands of them cost one round."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            java_command(str(_SOURCE), jvm=QUICK_JVM),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[list[str] | None]:
        """Kinds and places of incompatibility for each (reader, writer); None: no schema."""
        answers = self._ask([f"compare\t{reader}\t{writer}" for reader, writer in pairs])
        return [fields[1:] if fields[0] == "ok" else None for fields in answers]

    def write(self, schemas: Sequence[str]) -> list[str | None]:
        """Each schema as Avro prints it; None: no schema."""
        answers = self._ask([f"write\t{schema}" for schema in schemas])
        return [fields[1] if fields[0] == "ok" else None for fields in answers]

    def _ask(self, lines: list[str]) -> list[list[str]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        stdin = process.stdin

        def send() -> None:
            stdin.writelines(f"{line}\n" for line in lines)
            stdin.flush()

        sender = threading.Thread(target=send)
        sender.start()
        answers = [process.stdout.readline().rstrip("\n").split("\t") for _ in lines]
        sender.join()
        return answers

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
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
