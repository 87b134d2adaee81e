"""The Java producer and the assigned Java consumer, from one JVM (`JavaClient.java`)."""

import base64
import threading
from dataclasses import dataclass

from tests.support.line_jvm import LineJvm
from tests.support.node import Node
from tests.support.tools import JAVA_SOURCES

_SOURCE = JAVA_SOURCES / "clients" / "JavaClient.java"


class JavaClientError(AssertionError):
    """The Java client failed; the text is its exception."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """A record as the Java consumer saw it."""

    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def numbered(offset: int, number: int) -> tuple[int, bytes, bytes]:
    """Offset, key and value of record `number`, as the Java producer makes it."""
    value = f"{number * 2_654_435_761 % 2**32:08x} record {number}"
    return offset, f"k{number}".encode(), value.encode()


class JavaClient(LineJvm):
    """Sends and receives on behalf of a test."""

    def __init__(self) -> None:
        super().__init__(_SOURCE, shows_errors=False)

    def produce(
        self, node: Node, topic: str, first: int, count: int, **properties: str
    ) -> list[int]:
        """Send the records `first` and following to partition 0; returns their offsets."""
        request = ("produce", topic, str(first), str(count))
        return [int(line) for line in self._ask(node, request, properties)]

    def consume(
        self, node: Node, topic: str, count: int, *, partitions: int = 1, **properties: str
    ) -> list[Consumed]:
        """Read so many records from the beginning."""
        request = ("consume", topic, str(partitions), str(count))
        return [_consumed(line) for line in self._ask(node, request, properties)]

    def _ask(self, node: Node, request: tuple[str, ...], properties: dict[str, str]) -> list[str]:
        named = {"bootstrap.servers": node.bootstrap}
        named |= {name.replace("_", "."): value for name, value in properties.items()}
        fields = (*request, *(f"{name}={value}" for name, value in named.items()))
        alarm = threading.Timer(90.0, self._process.kill)
        alarm.start()
        lines = []
        try:
            self._stdin.write("\t".join(fields) + "\n")
            self._stdin.flush()
            while (line := self._stdout.readline().rstrip("\n")) != ".":
                if not line or line.startswith("!"):
                    raise JavaClientError(f"{' '.join(fields)}: {line or 'no answer'}")
                lines.append(line)
        finally:
            alarm.cancel()
        return lines


def _consumed(line: str) -> Consumed:
    partition, offset, timestamp, timestamp_type, key, value, headers = line.split("\t")
    pairs = (one.split("=", 1) for one in headers.split(",") if one)
    return Consumed(
        int(partition),
        int(offset),
        int(timestamp),
        timestamp_type,
        _bytes(key),
        _bytes(value),
        tuple((name, _bytes(text)) for name, text in pairs),
    )


def _bytes(field: str) -> bytes | None:
    return None if field == "-" else base64.b64decode(field)
