"""What Avro's own Java library reads, from one JVM (`AvroValueOracle.java`)."""

import threading
from collections.abc import Sequence

from tests.support.line_jvm import LineJvm
from tests.support.tools import JAVA_SOURCES

_SOURCE = JAVA_SOURCES / "oracle" / "AvroValueOracle.java"

#: Writer's schema, reader's schema, and values as the writer's schema writes them.
Question = tuple[str, str, Sequence[bytes]]


class AvroValueOracle(LineJvm):
    """Questions are sent while answers are read, so thousands of them cost one round."""

    def __init__(self) -> None:
        super().__init__(_SOURCE)

    def read(self, questions: Sequence[Question]) -> list[list[bytes | None] | None]:
        """Each value as the reader's schema writes it; None where it cannot be read."""
        lines = ["\t".join((w, r, *(one.hex() for one in values))) for w, r, values in questions]

        def send() -> None:
            self._stdin.writelines(f"{line}\n" for line in lines)
            self._stdin.flush()

        sender = threading.Thread(target=send)
        sender.start()
        answers = [self._stdout.readline().rstrip("\n").split("\t") for _ in lines]
        sender.join()
        return [
            _values(answer) if len(answer) == len(values) else None
            for answer, (_, _, values) in zip(answers, questions, strict=True)
        ]


def _values(answer: list[str]) -> list[bytes | None]:
    return [None if one.startswith("error") else bytes.fromhex(one) for one in answer]
