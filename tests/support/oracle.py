"""Apache Kafka's opinion on the bytes of a message, from one JVM that answers line by line."""

import json
from typing import Any

from tests.support.line_jvm import LineJvm
from tests.support.tools import JAVA_SOURCES

_SOURCE = JAVA_SOURCES / "oracle" / "MessageOracle.java"


class OracleError(AssertionError):
    """Kafka's classes refused the value or the bytes."""


class MessageOracle(LineJvm):
    """Asks `MessageOracle.java`; messages are named as in Kafka, e.g. `FetchRequest`."""

    def __init__(self) -> None:
        super().__init__(_SOURCE)

    def encode(self, name: str, version: int, value: object) -> bytes:
        """Kafka's bytes of a value given in Kafka's JSON."""
        (text,) = self._ask("encode", name, str(version), json.dumps(value))
        return bytes.fromhex(text)

    def decode(self, name: str, version: int, data: bytes) -> tuple[Any, bytes]:
        """The value Kafka reads, and the bytes it makes of that value again."""
        value, text = self._ask("decode", name, str(version), data.hex())
        return json.loads(value), bytes.fromhex(text)

    def default(self, name: str, version: int) -> bytes:
        """Kafka's bytes of a message with nothing set."""
        (text,) = self._ask("default", name, str(version))
        return bytes.fromhex(text)

    def apis(self) -> list[dict[str, Any]]:
        """Every API: name, key, lowest and highest version, header versions per version."""
        (text,) = self._ask("apis")
        listed: list[dict[str, Any]] = json.loads(text)
        return listed

    def metadata_records(self) -> list[dict[str, Any]]:
        """Every record of the metadata log: name, key, lowest and highest version."""
        (text,) = self._ask("records")
        listed: list[dict[str, Any]] = json.loads(text)
        return listed

    def _ask(self, *request: str) -> list[str]:
        self._stdin.write("\t".join(request) + "\n")
        self._stdin.flush()
        verdict, *answer = self._stdout.readline().rstrip("\n").split("\t")
        if verdict != "ok":
            raise OracleError(f"{' '.join(request)[:2000]}: {verdict} {answer}")
        return answer
