"""Values for any message at any version, made from its definition and a seed."""

import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from headrace.protocol.schema import Field, Message, Struct

S = TypeVar("S", bound=Struct)

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_UNSIGNED_BITS = {"uint16": 16, "uint32": 32}
_TEXTS = (
    "",
    "a",
    "topic-7",
    "ümläut",
    "日本語",
    "\N{PERSONAL COMPUTER}",
    "x" * 127,
    "y" * 128,
    "z" * 300,
)

_PLAIN = {
    "bool": True,
    "string": "topic",
    "uuid": bytes(range(16)),
    "float64": 1.5,
    "bytes": b"xyz",
    "records": b"abc",
}

#: Makes the value of one field at one version.
Maker = Callable[[Field, int], Any]


def sample_messages(cls: type[Message], version: int) -> Iterator[tuple[str, Message]]:
    """Named samples, the same in every run: defaults, nulls, extremes, and mixed ones."""
    yield "defaults", cls()
    yield "nulls", build(cls, version, _nulls)
    yield "lowest", build(cls, version, _lowest)
    yield "highest", build(cls, version, _highest)
    for round_number in range(4):
        seed = zlib.crc32(f"{cls.__name__} {version} {round_number}".encode())
        yield f"mixed {round_number}", build(cls, version, _Mixed(random.Random(seed)))


def build(cls: type[S], version: int, maker: Maker) -> S:
    """A struct whose fields of this version come from `maker`, the others stay absent."""
    values = {
        name: maker(field, version)
        for name, field in cls.fields.items()
        if version in field.versions
    }
    return cls(**values)


def plain(field: Field, version: int) -> Any:
    """Ordinary small values, valid even where a reader knows a field to be an error code."""
    if _is_nested(field):
        return _nested(field, version, plain, 2)
    return _PLAIN.get(field.kind, 1)


def _nulls(field: Field, version: int) -> Any:
    """Null wherever null is allowed, one element in every other array."""
    if version in field.nullable:
        return None
    if _is_nested(field):
        return _nested(field, version, _nulls, 1)
    # Records have no empty default: whoever sends them sets them.
    return b"" if field.kind == "records" else field.default_value


def _lowest(field: Field, version: int) -> Any:
    if _is_nested(field):
        return _nested(field, version, _lowest, 1)
    if field.kind in _BITS:
        return -(1 << (_BITS[field.kind] - 1))
    if field.kind == "float64":
        return -1.5e300
    return {"bool": False, "string": "", "uuid": bytes(16)}.get(
        field.kind, b"" if field.kind in ("bytes", "records") else 0
    )


def _highest(field: Field, version: int) -> Any:
    if _is_nested(field):
        return _nested(field, version, _highest, 2)
    if field.kind in _BITS:
        return (1 << (_BITS[field.kind] - 1)) - 1
    if field.kind in _UNSIGNED_BITS:
        return (1 << _UNSIGNED_BITS[field.kind]) - 1
    if field.kind == "float64":
        return 1.5e300
    return {"bool": True, "string": "z" * 300, "uuid": b"\xff" * 16}.get(
        field.kind, b"\xff" * 20_000
    )


class _Mixed:
    """Random values, biased to the places where encodings change: empty, null, 127, 128."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def __call__(self, field: Field, version: int) -> Any:
        chance = self._chance
        if version in field.nullable and chance.random() < 0.2:
            return None
        if field.tag is not None and chance.random() < 0.3:
            return field.default_value
        if _is_nested(field):
            return _nested(field, version, self, chance.choice((0, 1, 1, 2, 3)))
        return self._scalar(field.kind)

    def _scalar(self, kind: str) -> Any:
        chance = self._chance
        if kind in _BITS:
            bits = chance.randrange(_BITS[kind])
            return chance.randrange(-(1 << bits), 1 << bits)
        if kind in _UNSIGNED_BITS:
            return chance.randrange(1 << _UNSIGNED_BITS[kind])
        if kind == "bool":
            return chance.random() < 0.5
        if kind == "float64":
            return chance.uniform(-1e6, 1e6)
        if kind == "string":
            return chance.choice(_TEXTS)
        if kind == "uuid":
            return chance.randbytes(16)
        return chance.randbytes(chance.choice((0, 1, 15, 127, 128, 400)))


def _is_nested(field: Field) -> bool:
    return field.kind in ("array", "struct")


def _nested(field: Field, version: int, maker: Maker, count: int) -> Any:
    if field.kind == "struct":
        assert field.struct is not None
        return build(field.struct, version, maker)
    assert field.element is not None
    return [maker(field.element, version) for _ in range(count)]
