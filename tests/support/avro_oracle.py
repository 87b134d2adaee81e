"""Avro's own opinion on schemas, from one JVM that answers line by line (`AvroOracle.java`)."""

import threading
from collections.abc import Sequence

from tests.support.line_jvm import LineJvm
from tests.support.tools import JAVA_SOURCES

_SOURCE = JAVA_SOURCES / "oracle" / "AvroOracle.java"


class AvroOracle(LineJvm):
    """Questions are sent while answers are read, so thousands of them cost one round."""

    def __init__(self) -> None:
        super().__init__(_SOURCE)

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[list[str] | None]:
        """Kinds and places of incompatibility for each (reader, writer); None: no schema."""
        answers = self._ask([f"compare\t{reader}\t{writer}" for reader, writer in pairs])
        return [fields[1:] if fields[0] == "ok" else None for fields in answers]

    def write(self, schemas: Sequence[str]) -> list[str | None]:
        """Each schema as Avro prints it; None: no schema."""
        answers = self._ask([f"write\t{schema}" for schema in schemas])
        return [fields[1] if fields[0] == "ok" else None for fields in answers]

    def _ask(self, lines: list[str]) -> list[list[str]]:
        def send() -> None:
            self._stdin.writelines(f"{line}\n" for line in lines)
            self._stdin.flush()

        sender = threading.Thread(target=send)
        sender.start()
        answers = [self._stdout.readline().rstrip("\n").split("\t") for _ in lines]
        sender.join()
        return answers
