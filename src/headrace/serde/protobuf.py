"""Protobuf, with messages made from the registry's schema while the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass

from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.protobuf_files import ProtobufFiles
from headrace.serde.schema import Schema
from headrace.serde.wire import read_indexes, write_indexes


class ProtobufCodec:
    """One file; its first message unless a path or a name says otherwise."""

    def __init__(
        self, schema: Schema, referenced: Mapping[str, Schema], message_name: str | None = None
    ) -> None:
        # The descriptors live as long as their pool does.
        self._files = ProtobufFiles(
            schema.text, {name: target.text for name, target in referenced.items()}
        )
        self._messages: dict[tuple[int, ...], tuple[type[Message], bytes]] = {}
        self._top: list[Descriptor] = list(self._files.main.message_types_by_name.values())
        if not self._top:
            raise SchemaError("The Protobuf schema has no message.")
        self._default = (0,) if message_name is None else self._path_of(message_name)
        self.record_name: str | None = self._descriptor(self._default).full_name

    @property
    def descriptor(self) -> Descriptor:
        """The message that values without a name are."""
        return self._descriptor(self._default)

    def message_name(self, path: tuple[int, ...]) -> str:
        """The full name of the message at a path."""
        return str(self._descriptor(path).full_name)

    # ---------------------------------------------------------------- values of Python

    def encode(self, value: Any) -> bytes:
        """A message of the schema, generated or dynamic, or a dict of its JSON form."""
        if isinstance(value, dict):
            return self.encode_json(value)
        if not isinstance(value, Message):
            raise SerdeError(f"A {type(value).__name__} is no Protobuf message.")
        path = self._path_of(value.DESCRIPTOR.full_name)
        try:
            return write_indexes(path) + value.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise SerdeError(f"The value does not fit its schema: {error}.") from error

    def decode(self, data: bytes, at: int = 0) -> Message:
        path, at = read_indexes(data, at)
        kind, _ = self._message(path)
        try:
            return kind.FromString(data[at:])
        except (DecodeError, ValueError) as error:
            raise SerdeError(f"The data is not a {kind.DESCRIPTOR.full_name}: {error}.") from error

    # ---------------------------------------------------------------- Protobuf's JSON form

    def encode_json(self, value: Any) -> bytes:
        kind, indexes = self._message(self._default)
        if not isinstance(value, dict):
            raise SerdeError(
                f"The value does not fit its schema: it is {value!r:.60}, not a message"
                f" {self.record_name}."
            )
        try:
            return indexes + ParseDict(value, kind()).SerializeToString()
        except (ParseError, EncodeError, TypeError, ValueError) as error:
            raise SerdeError(
                f"The value does not fit its schema: {str(error).rstrip('.')}."
            ) from error

    def decode_json(self, data: bytes, at: int = 0) -> Any:
        try:
            return MessageToDict(self.decode(data, at), always_print_fields_with_no_presence=True)
        except (TypeError, ValueError) as error:
            raise SerdeError(f"The data has no JSON form: {error}.") from error

    # ---------------------------------------------------------------- messages
    # A path counts all messages of a descriptor. The entries that a `map<>` stands for come after
    # the messages that a text declares, so they do not move them (see `protobuf_parser`).

    def _message(self, path: tuple[int, ...]) -> tuple[type[Message], bytes]:
        found = self._messages.get(path)
        if found is None:
            found = GetMessageClass(self._descriptor(path)), write_indexes(path)
            self._messages[path] = found
        return found

    def _descriptor(self, path: tuple[int, ...]) -> Descriptor:
        level = self._top
        descriptor = None
        for index in path:
            if not 0 <= index < len(level):
                shown = "/".join(map(str, path))
                raise SerdeError(f"The schema has no Protobuf message at the path {shown}.")
            descriptor = level[index]
            level = list(descriptor.nested_types)
        if descriptor is None:
            raise SerdeError("The path to the Protobuf message is empty.")
        return descriptor

    def _path_of(self, name: str) -> tuple[int, ...]:
        def search(level: list[Descriptor], path: tuple[int, ...]) -> tuple[int, ...] | None:
            for index, descriptor in enumerate(level):
                here = (*path, index)
                if name in (descriptor.full_name, descriptor.name):
                    return here
                deeper = search(list(descriptor.nested_types), here)
                if deeper is not None:
                    return deeper
            return None

        found = search(self._top, ())
        if found is None:
            raise SerdeError(f"The schema has no Protobuf message {name}.")
        return found
