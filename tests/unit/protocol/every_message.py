"""Every message that a peer or a disk may hand us, at every version."""

from collections.abc import Iterator

from headrace.metadata import records as metadata_records
from headrace.protocol import embedded
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.headers import RequestHeader, ResponseHeader
from headrace.protocol.schema import NEVER, Message

Target = tuple[type[Message], int]


def api_messages() -> list[Target]:
    """Requests and responses of all APIs."""
    classes: list[type[Message]] = [cls for api in ApiKey for cls in message_classes(api)]
    return [target for cls in classes for target in _versions_of(cls)]


def all_messages() -> list[Target]:
    """The same with headers, embedded structures and the records of the metadata log."""
    others: list[type[Message]] = [RequestHeader, ResponseHeader]
    others += _in(embedded) + _in(metadata_records)
    return api_messages() + [target for cls in others for target in _versions_of(cls)]


def _versions_of(cls: type[Message]) -> Iterator[Target]:
    assert cls.versions.high is not None
    for version in range(cls.versions.low, cls.versions.high + 1):
        yield cls, version


def _in(module: object) -> list[type[Message]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Message)
        and getattr(value, "versions", NEVER) != NEVER
    ]
