"""The few building blocks of Kafka's wire format that compiled codecs call."""

from headrace.protocol.errors import ProtocolError

#: A struct with more unknown tagged fields than this is an attack, not a newer client.
UNKNOWN_TAGS_MAX = 1000

#: More array elements and tagged fields than this are in no sensible request, yet would keep
#: the reader busy for seconds: an empty element takes two bytes and costs a microsecond.
REQUEST_ELEMENTS_MAX = 1_000_000

#: Bytes in a string, as much as its older layout can count: it may have to be stored in that one.
STRING_MAX = 0x7FFF

#: The one-byte unsigned varints, ready made.
SMALL_UVARINTS = tuple(bytes((value,)) for value in range(128))


def read_uvarint(buffer: memoryview, position: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes, and the position behind it."""
    byte = buffer[position]
    if byte < 0x80:
        return byte, position + 1
    following = buffer[position + 1]
    if following < 0x80:
        return byte & 0x7F | following << 7, position + 2
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                raise ProtocolError("a varint is larger than 32 bits")
            return value, position
        shift += 7
        if shift > 28:
            raise ProtocolError("a varint is longer than five bytes")


def write_uvarint(value: int) -> bytes:
    if value < 0x80:
        return SMALL_UVARINTS[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >= 0x80:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def short(what: str) -> ProtocolError:
    """The error for a length or count that exceeds the bytes that are left."""
    return ProtocolError(f"{what} is longer than the bytes that are left")


def long(what: str) -> ProtocolError:
    """The error for a string of a request that is longer than Kafka's strings are."""
    return ProtocolError(f"{what} is longer than {STRING_MAX} bytes")


def crowded(what: str) -> ProtocolError:
    """The error for a request with more elements than anybody needs."""
    return ProtocolError(f"with {what} the request has more than {REQUEST_ELEMENTS_MAX} elements")


def null(what: str) -> ProtocolError:
    """The error for a null where the version has none."""
    return ProtocolError(f"{what} must not be null")


def read_unknown_tag(
    buffer: memoryview, position: int, size: int, tag: int, known: dict[int, bytes] | None
) -> dict[int, bytes]:
    """Keep a tagged field of a newer peer as raw bytes."""
    tags = {} if known is None else known
    if len(tags) >= UNKNOWN_TAGS_MAX:
        raise ProtocolError(f"more than {UNKNOWN_TAGS_MAX} unknown tagged fields in one struct")
    tags[tag] = bytes(buffer[position : position + size])
    return tags
