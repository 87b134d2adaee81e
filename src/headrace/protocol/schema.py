"""The language in which messages are written down: one class per message, for all its versions.

A message class lists its fields with the versions that have them, in Kafka's own notation::

    class MetadataRequest(Request, key=3, versions="0-13", flexible="9+"):
        topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, null="1+")
        allow_auto_topic_creation: bool = boolean("4+", default=True)

Creating such a class is cheap: it only notes the fields. `compiler` builds straight-line read
and write functions for one version when that version is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

from headrace.base.uuids import ZERO_UUID

#: Record batches as they came from the socket or the file, uncopied.
RecordBytes = bytes | bytearray | memoryview

#: Stands for "no default given": the field then defaults to its type's empty value.
_UNSET: Any = object()


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions, open above when `high` is None."""

    low: int
    high: int | None

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read Kafka's notation: `3`, `0-12`, `9+` or `none`."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), None)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __contains__(self, version: int) -> bool:
        return version >= self.low and (self.high is None or version <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low}+"
        if self.high < self.low:
            return "none"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


ALWAYS = Versions(0, None)
NEVER = Versions(0, -1)

_EMPTY_VALUES: dict[str, object] = {
    "bool": False,
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": ZERO_UUID,
    "float64": 0.0,
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its type, the versions that have it, and how it looks when it is absent."""

    kind: str
    versions: Versions = ALWAYS
    nullable: Versions = NEVER
    tag: int | None = None
    default: Any = _UNSET
    #: For kind `struct` the nested class; for kind `array` the type of one element.
    element: Field | None = None
    struct: type[Struct] | None = None
    #: Old-style lengths even in flexible versions (the client id of a request header).
    never_flexible: bool = False

    @property
    def default_value(self) -> Any:
        """The value of an absent field; a fresh object where the value is mutable."""
        if self.default is not _UNSET:
            return self.default
        if self.kind == "array":
            return []
        if self.struct is not None:
            return self.struct()
        return _EMPTY_VALUES.get(self.kind, 0)

    @property
    def is_default_fresh(self) -> bool:
        """Whether each message gets its own default object.

        A tagged struct is nearly always absent, so all messages share one default object:
        code that sets such a field puts a new struct there and never changes the old one.
        """
        if self.default is not _UNSET:
            return False
        return self.kind == "array" or (self.kind == "struct" and self.tag is None)


@dataclass_transform(kw_only_default=True)
class StructMeta(type):
    """Turns field notes into slots, so that a message is as small and quick as a tuple."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **options: Any,
    ) -> StructMeta:
        fields = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        for key in fields:
            del namespace[key]
        namespace["__slots__"] = (*namespace.get("__slots__", ()), *fields)
        namespace["fields"] = fields
        return super().__new__(mcs, name, bases, namespace, **options)

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: Any
    ) -> None:
        super().__init__(name, bases, namespace)


class _Tagged:
    """Not a field, so it stands outside `StructMeta`: no constructor asks for it."""

    __slots__ = ("unknown_tags",)
    #: Tagged fields of a newer peer, kept as raw bytes; None where there are none.
    unknown_tags: dict[int, bytes] | None


class Struct(_Tagged, metaclass=StructMeta):
    """A group of fields; messages and everything nested in them."""

    fields: ClassVar[dict[str, Field]]

    def __init__(self, **values: Any) -> None:
        # Built at first use: most message classes of a process are never instantiated.
        from headrace.protocol.compiler import compile_init

        cls = type(self)
        cls.__init__ = compile_init(cls)  # type: ignore[method-assign]
        self.__init__(**values)  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}({values})"


class Message(Struct):
    """A struct that travels on its own and so has versions."""

    versions: ClassVar[Versions]
    flexible: ClassVar[Versions]

    def __init_subclass__(cls, versions: str = "none", flexible: str = "none") -> None:
        super().__init_subclass__()
        cls.versions = Versions.parse(versions)
        cls.flexible = Versions.parse(flexible)


class ApiMessage(Message):
    """A message that belongs to an API."""

    api_key: ClassVar[int]

    def __init_subclass__(
        cls, key: int = -1, versions: str = "none", flexible: str = "none"
    ) -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.api_key = key


class Request(ApiMessage):
    """What a client sends."""


class Response(ApiMessage):
    """What a broker answers."""


def _scalar(kind: str) -> Any:
    def make(
        versions: str = "0+", *, null: str = "none", tag: int | None = None, default: Any = _UNSET
    ) -> Any:
        return Field(kind, Versions.parse(versions), Versions.parse(null), tag, default)

    make.kind = kind  # type: ignore[attr-defined]
    return make


int8 = _scalar("int8")
int16 = _scalar("int16")
int32 = _scalar("int32")
int64 = _scalar("int64")
uint16 = _scalar("uint16")
uint32 = _scalar("uint32")
float64 = _scalar("float64")
boolean = _scalar("bool")
string = _scalar("string")
binary = _scalar("bytes")
records = _scalar("records")
uuid = _scalar("uuid")


def struct(
    nested: type[Struct],
    versions: str = "0+",
    *,
    null: str = "none",
    tag: int | None = None,
    default: Any = _UNSET,
) -> Any:
    """One nested struct."""
    return Field(
        "struct", Versions.parse(versions), Versions.parse(null), tag, default, struct=nested
    )


def array(
    element: Any,
    versions: str = "0+",
    *,
    null: str = "none",
    tag: int | None = None,
    default: Any = _UNSET,
) -> Any:
    """A list of structs, or of a scalar named by its function: `array(int32)`."""
    one = Field("struct", struct=element) if isinstance(element, type) else Field(element.kind)
    return Field("array", Versions.parse(versions), Versions.parse(null), tag, default, element=one)
