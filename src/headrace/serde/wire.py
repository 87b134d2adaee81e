"""How a record says which schema it was written with.

In front of the data: a zero byte and the schema's id in four bytes. Newer clients may put a one
byte and the schema's GUID into a header instead. Protobuf data is preceded by the path to the
message inside its file (`message_indexes`), in both forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from uuid import UUID

from headrace.serde.errors import SerdeError
from headrace.serde.zigzag import read_zigzag

KEY_SCHEMA_ID_HEADER = "__key_schema_id"
VALUE_SCHEMA_ID_HEADER = "__value_schema_id"
PREFIX_SIZE = 5
_PREFIX = Struct(">BI")
_GUID_SIZE = 17
#: More nesting than any schema has; bounds what a hostile length can cost.
_INDEXES_MAX = 100
_VARINT_BYTES_MAX = 5

#: A header of a record, as Kafka clients give it.
Header = tuple[str, bytes | None]


def prefix(schema_id: int) -> bytes:
    """The five bytes in front of the data."""
    return _PREFIX.pack(0, schema_id)


def read_prefix(data: bytes) -> int:
    """The id of the schema that wrote `data`."""
    if len(data) < PREFIX_SIZE:
        raise SerdeError(
            f"The data is {len(data)} bytes long, too short for a magic byte and a schema id."
        )
    magic, schema_id = _PREFIX.unpack_from(data)
    if magic != 0:
        raise SerdeError(
            f"The data begins with byte 0x{magic:02x} instead of the magic byte 0x00:"
            " it was not written with a schema of the registry."
        )
    return int(schema_id)


def header_name(is_key: bool) -> str:
    return KEY_SCHEMA_ID_HEADER if is_key else VALUE_SCHEMA_ID_HEADER


def guid_header(guid: str, message_indexes: Sequence[int] | None = None) -> bytes:
    """The value of the header that carries the schema's GUID."""
    try:
        data = b"\x01" + UUID(guid).bytes
    except ValueError as error:
        raise SerdeError(f"'{guid}' is not the GUID of a schema.") from error
    return data if message_indexes is None else data + write_indexes(message_indexes)


def find_guid(headers: Iterable[Header] | None, is_key: bool) -> tuple[str, bytes] | None:
    """The GUID in the headers and the bytes after it, or None if they name no schema."""
    name = header_name(is_key)
    value = None
    for header, data in headers or ():
        if header == name:
            value = data
    if value is None:
        return None
    if len(value) < _GUID_SIZE or value[0] != 1:
        raise SerdeError(f"The header {name} holds no schema GUID.")
    return str(UUID(bytes=bytes(value[1:_GUID_SIZE]))), bytes(value[_GUID_SIZE:])


# ---------------------------------------------------------------- message indexes of Protobuf


def write_indexes(indexes: Sequence[int]) -> bytes:
    """The path to a message; the first message of a file, by far the most common, is one byte."""
    if list(indexes) == [0]:
        return b"\x00"
    return b"".join(_zigzag(number) for number in (len(indexes), *indexes))


def read_indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """The path to the message, and where the message begins."""
    count, at = _read_number(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _INDEXES_MAX:
        raise SerdeError(f"The data names a path of {count} Protobuf messages.")
    indexes = []
    for _ in range(count):
        index, at = _read_number(data, at)
        indexes.append(index)
    return tuple(indexes), at


def _zigzag(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 31)
    data = bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    found = read_zigzag(data, at, _VARINT_BYTES_MAX)
    if found is None:
        raise SerdeError("The data ends inside the path to its Protobuf message.")
    return found
