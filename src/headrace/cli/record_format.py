"""How the console consumer prints a record: Kafka's default formatter and its properties."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from struct import Struct
from typing import TypeAlias

from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.java_values import java_number
from headrace.client.fetched import FetchedBatch
from headrace.records.record import Record

_FLAGS = ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key", "value")


#: Turns a record into the bytes to print.
RecordFormat: TypeAlias = Callable[[FetchedBatch, Record], bytes]


class DefaultFormat:
    """Columns with separators between them; every column but the value has to be asked for."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        def flag(name: str, default: str) -> bool:
            return properties.get(f"print.{name}", default).strip().lower() == "true"

        self._print = {name: flag(name, str(name == "value")) for name in _FLAGS}
        self._key_separator = properties.get("key.separator", "\t").encode()
        self._line_separator = properties.get("line.separator", "\n").encode()
        self._headers_separator = properties.get("headers.separator", ",").encode()
        self._null = properties.get("null.literal", "null").encode()
        self._read_key = find_deserializer(properties.get("key.deserializer"))
        self._read_value = find_deserializer(properties.get("value.deserializer"))
        self._read_header = find_deserializer(properties.get("headers.deserializer"))

    def __call__(self, batch: FetchedBatch, record: Record) -> bytes:
        columns = []
        wanted = self._print
        if wanted["timestamp"]:
            columns.append(_timestamp(batch, record))
        if wanted["partition"]:
            columns.append(b"Partition:%d" % batch.partition[1])
        if wanted["offset"]:
            columns.append(b"Offset:%d" % record.offset)
        if wanted["delivery"]:
            columns.append(b"Delivery:NOT_PRESENT")
        if wanted["epoch"]:
            columns.append(b"Epoch:%d" % batch.leader_epoch)
        if wanted["headers"]:
            columns.append(self._headers(record))
        if wanted["key"]:
            columns.append(self._field(record.key, self._read_key))
        if wanted["value"]:
            columns.append(self._field(record.value, self._read_value))
        return self._key_separator.join(columns) + self._line_separator if columns else b""

    def _headers(self, record: Record) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode() + b":" + self._field(value, self._read_header)
            for name, value in record.headers
        )

    def _field(self, data: bytes | None, read: Callable[[bytes], bytes] | None) -> bytes:
        if data is None:
            return self._null
        return data if read is None else read(data)


def _timestamp(batch: FetchedBatch, record: Record) -> bytes:
    if batch.timestamp_type == "NoTimestampType":
        return b"NO_TIMESTAMP"
    return f"{batch.timestamp_type}:{record.timestamp}".encode()


def json_format(batch: FetchedBatch, record: Record) -> bytes:
    """One JSON object per line; bytes that are not UTF-8 are given in base64."""
    topic, partition = batch.partition
    value = {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": batch.timestamp_type,
        "headers": [{"key": name, "value": _text(data)} for name, data in record.headers],
        "key": _text(record.key),
        "value": _text(record.value),
    }
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _text(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def no_format(_batch: FetchedBatch, _record: Record) -> bytes:
    return b""


def find_format(class_name: str, properties: Mapping[str, str]) -> RecordFormat:
    """The formatter that Kafka's class name stands for."""
    name = class_name.rpartition(".")[2]
    if name == "NoOpMessageFormatter":
        return no_format
    from headrace.cli.registry_formats import RegistryFormat, is_registry_format

    if is_registry_format(class_name, properties):
        return RegistryFormat(class_name, properties)
    if name in ("DefaultMessageFormatter", "LoggingMessageFormatter"):
        return DefaultFormat(properties)
    from headrace.cli.coordinator_format import FORMATTERS, coordinator_format

    if name in FORMATTERS:
        return coordinator_format(name)
    raise CommandFailedError(
        f"The formatter {class_name} is not supported; there are DefaultMessageFormatter,"
        f" LoggingMessageFormatter, NoOpMessageFormatter, {', '.join(FORMATTERS)}."
    )


def find_json_format(class_name: str, properties: Mapping[str, str]) -> RecordFormat:
    """With `-o json`: documents of our own, or those of a formatter that prints nothing else."""
    from headrace.cli.coordinator_format import FORMATTERS
    from headrace.cli.registry_formats import is_registry_format

    name = class_name.rpartition(".")[2]
    if name in (*FORMATTERS, "NoOpMessageFormatter"):
        return find_format(class_name, properties)
    if name != "DefaultMessageFormatter":
        raise UsageError(f"-o json and --formatter {class_name} cannot be specified together.")
    names = [properties.get(f"{part}.deserializer") for part in ("key", "value", "headers")]
    if is_registry_format(class_name, properties) or any(map(find_deserializer, names)):
        raise UsageError("-o json and deserializers cannot be specified together.")
    return json_format


def find_deserializer(class_name: str | None) -> Callable[[bytes], bytes] | None:
    """What Kafka's deserializer of that name prints, for those that need no Java."""
    if class_name is None:
        return None
    name = class_name.rpartition(".")[2].removesuffix("Deserializer")
    if name in ("String", "ByteArray", "Bytes", "ByteBuffer"):
        return None
    if name in _NUMBERS:
        return _number(name, _NUMBERS[name])
    if name == "UUID":
        return bytes  # its text is its form on the wire
    if name == "Boolean":
        return lambda data: b"true" if data == b"\x01" else b"false"
    raise CommandFailedError(
        f"The deserializer {class_name} is a Java class; supported are those of Kafka for"
        " strings, bytes, numbers, booleans and UUIDs."
    )


_NUMBERS = {
    "Integer": Struct(">i"),
    "Long": Struct(">q"),
    "Short": Struct(">h"),
    "Float": Struct(">f"),
    "Double": Struct(">d"),
}


def _number(name: str, layout: Struct) -> Callable[[bytes], bytes]:
    def read(data: bytes) -> bytes:
        if len(data) != layout.size:
            raise ValueError(f"Size of data received by {name}Deserializer is not {layout.size}")
        return java_number(layout.unpack(data)[0], single=name == "Float").encode()

    return read
