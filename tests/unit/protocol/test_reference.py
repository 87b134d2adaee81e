"""The compiled writers and readers say what the definitions say."""

import pytest

from headrace.protocol.compiler import Buffer, decode, encode, stepwise_writer
from headrace.protocol.schema import Field, Message, Struct
from tests.support.message_values import build, sample_messages
from tests.unit.protocol.every_message import all_messages
from tests.unit.protocol.reference_codec import write

_CLASSES = list(dict.fromkeys(cls for cls, _ in all_messages()))


def _versions(cls: type[Message]) -> range:
    assert cls.versions.high is not None
    return range(cls.versions.low, cls.versions.high + 1)


@pytest.mark.parametrize("cls", _CLASSES, ids=lambda cls: cls.__name__)
def test_compiled_writers_write_what_the_definition_says(cls: type[Message]) -> None:
    for version in _versions(cls):
        for name, message in sample_messages(cls, version):
            assert encode(message, version) == write(message, version).data, (version, name)


@pytest.mark.parametrize("cls", _CLASSES, ids=lambda cls: cls.__name__)
def test_writing_in_steps_writes_the_same(cls: type[Message]) -> None:
    for version in _versions(cls):
        for name, message in sample_messages(cls, version):
            chunks: list[Buffer] = []
            for _ in stepwise_writer(cls, version)(message, chunks.append):
                pass
            assert b"".join(chunks) == encode(message, version), (version, name)


@pytest.mark.parametrize("cls", _CLASSES, ids=lambda cls: cls.__name__)
def test_what_is_written_is_read_again(cls: type[Message]) -> None:
    for version in _versions(cls):
        for name, message in sample_messages(cls, version):
            assert decode(cls, version, encode(message, version)) == message, (version, name)


def _arrays_of_structs(cls: type[Struct]) -> list[Field]:
    return [field for field in cls.fields.values() if field.element and field.element.struct]


@pytest.mark.parametrize("cls", _CLASSES, ids=lambda cls: cls.__name__)
def test_the_smallest_elements_fit_into_the_smallest_room(cls: type[Message]) -> None:
    """The bound on counts must not refuse many small elements at the end of a message."""

    def smallest(field: Field, version: int) -> object:
        if version in field.nullable:
            return None
        if field.kind == "struct":
            assert field.struct is not None
            return build(field.struct, version, smallest)
        return b"" if field.kind == "records" else field.default_value

    for version in _versions(cls):
        for name, field in cls.fields.items():
            if version not in field.versions or field not in _arrays_of_structs(cls):
                continue
            assert field.element is not None
            message = build(cls, version, smallest)
            setattr(message, name, [smallest(field.element, version) for _ in range(50)])
            assert decode(cls, version, encode(message, version)) == message, (version, name)
