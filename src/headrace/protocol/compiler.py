"""Builds, for one message at one version, a function that reads it and one that writes it.

The functions are straight-line Python: neighbouring fixed-width fields become one `struct`
call, nested structs are inlined, and nothing about versions is decided while they run.
Every count and length is compared with the bytes that are left before anything is allocated.
"""

from __future__ import annotations

import struct as struct_module
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from headrace.protocol.code import shared_default
from headrace.protocol.errors import ProtocolError
from headrace.protocol.read_code import ReadCode
from headrace.protocol.schema import Message, Struct
from headrace.protocol.stepwise_write_code import StepwiseWriteCode
from headrace.protocol.write_code import WriteCode

M = TypeVar("M", bound=Message)
Buffer = bytes | bytearray | memoryview
Reader = Callable[[memoryview, int], tuple[Any, int]]
Writer = Callable[[Any, Callable[[Buffer], None]], None]
StepwiseWriter = Callable[[Any, Callable[[Buffer], None]], Iterator[None]]

_readers: dict[tuple[type[Message], int], Reader] = {}
_writers: dict[tuple[type[Message], int], Writer] = {}
_stepwise_writers: dict[tuple[type[Message], int], StepwiseWriter] = {}


def reader(cls: type[Message], version: int) -> Reader:
    """The function `(buffer, position) -> (message, next position)` of this version."""
    function = _readers.get((cls, version))
    if function is None:
        _require_version(cls, version)
        function = ReadCode(cls, version).compile()
        _readers[cls, version] = function
    return function


def writer(cls: type[Message], version: int) -> Writer:
    """The function `(message, append) -> None` of this version; `append` takes each chunk."""
    function = _writers.get((cls, version))
    if function is None:
        _require_version(cls, version)
        function = WriteCode(cls, version).compile()
        _writers[cls, version] = function
    return function


def stepwise_writer(cls: type[Message], version: int) -> StepwiseWriter:
    """Like `writer`, but a generator that stops after each element of a list of structs."""
    function = _stepwise_writers.get((cls, version))
    if function is None:
        _require_version(cls, version)
        function = StepwiseWriteCode(cls, version).compile_steps()
        _stepwise_writers[cls, version] = function
    return function


def _require_version(cls: type[Message], version: int) -> None:
    if version not in cls.versions:
        raise ProtocolError(f"{cls.__name__} has no version {version}, only {cls.versions}")


def read(cls: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """Decode one message; any malformed input raises `ProtocolError`."""
    view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
    try:
        return reader(cls, version)(view, position)
    except (struct_module.error, IndexError) as error:
        raise ProtocolError(f"{cls.__name__} version {version} ends too early") from error
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{cls.__name__} has a string that is not UTF-8") from error


def decode(cls: type[M], version: int, buffer: Buffer) -> M:
    """Decode a message that fills `buffer` exactly."""
    message, end = read(cls, version, buffer)
    if end != len(buffer):
        raise ProtocolError(f"{cls.__name__} version {version} has {len(buffer) - end} bytes over")
    return message


def encode_chunks(message: Message, version: int) -> list[Buffer]:
    """Encode without copying record bytes: the chunks, in order, are the message."""
    chunks: list[Buffer] = []
    writer(type(message), version)(message, chunks.append)
    return chunks


def encode(message: Message, version: int) -> bytes:
    """Encode into one piece of bytes."""
    return b"".join(encode_chunks(message, version))


def compile_init(cls: type[Struct]) -> Callable[..., None]:
    """A keyword constructor with every field's default."""
    scope: dict[str, Any] = {"_missing": object()}
    parameters, body = [], ["    self.unknown_tags = None"]
    for name, field in cls.fields.items():
        if field.is_default_fresh:
            scope[f"_new_{name}"] = list if field.kind == "array" else field.struct
            parameters.append(f"{name}=_missing")
            body.append(f"    self.{name} = _new_{name}() if {name} is _missing else {name}")
        else:
            scope[f"_default_{name}"] = shared_default(field)
            parameters.append(f"{name}=_default_{name}")
            body.append(f"    self.{name} = {name}")
    star = "*, " if parameters else ""
    source = f"def __init__(self, {star}{', '.join(parameters)}):\n" + "\n".join(body)
    exec(source, scope)  # noqa: S102 - source is made of our own field names only
    function: Callable[..., None] = scope["__init__"]
    return function
