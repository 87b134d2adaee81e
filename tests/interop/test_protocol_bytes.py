"""Every message at every version has Kafka's bytes, both ways; the judge is Kafka's own code."""

from collections.abc import Iterator

import pytest

from headrace.metadata import records as metadata_records
from headrace.protocol import embedded
from headrace.protocol.apis import ApiKey, api_name, message_classes
from headrace.protocol.compiler import decode, encode
from headrace.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from headrace.protocol.schema import NEVER, Message
from tests.support.message_json import to_json
from tests.support.message_values import build, plain, sample_messages
from tests.support.oracle import MessageOracle

pytestmark = pytest.mark.no_second_chance


def _messages_of(module: object) -> list[type[Message]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Message)
        # The bases that messages derive from have no versions of their own.
        and getattr(value, "versions", NEVER) != NEVER
    ]


def _all_messages() -> list[type[Message]]:
    wire = [cls for api in ApiKey for cls in message_classes(api)]
    others = [*_messages_of(embedded), *_messages_of(metadata_records)]
    return [*wire, RequestHeader, ResponseHeader, *others]


def _versions(cls: type[Message]) -> range:
    assert cls.versions.high is not None
    return range(cls.versions.low, cls.versions.high + 1)


@pytest.fixture(scope="module")
def oracle() -> Iterator[MessageOracle]:
    with MessageOracle() as asked:
        yield asked


@pytest.mark.parametrize("cls", _all_messages(), ids=lambda cls: cls.__name__)
def test_the_bytes_are_kafkas_in_every_version(cls: type[Message], oracle: MessageOracle) -> None:
    for version in _versions(cls):
        for sample, message in sample_messages(cls, version):
            label = f"{cls.__name__} version {version}, {sample}"
            ours = encode(message, version)
            theirs = oracle.encode(cls.__name__, version, to_json(message, version))
            assert ours.hex() == theirs.hex(), label
            assert decode(cls, version, theirs) == message, label


@pytest.mark.parametrize("cls", _all_messages(), ids=lambda cls: cls.__name__)
def test_kafka_reads_in_our_bytes_what_we_wrote(cls: type[Message], oracle: MessageOracle) -> None:
    for version in _versions(cls):
        for sample, message in sample_messages(cls, version):
            label = f"{cls.__name__} version {version}, {sample}"
            ours = encode(message, version)
            value, again = oracle.decode(cls.__name__, version, ours)
            assert value == to_json(message, version, with_records=False), label
            assert again.hex() == ours.hex(), label


@pytest.mark.parametrize("cls", _all_messages(), ids=lambda cls: cls.__name__)
def test_a_message_with_nothing_set_has_kafkas_defaults(
    cls: type[Message], oracle: MessageOracle
) -> None:
    for version in _versions(cls):
        assert encode(cls(), version).hex() == oracle.default(cls.__name__, version).hex(), version


def test_every_api_is_there_with_kafkas_key_versions_and_headers(oracle: MessageOracle) -> None:
    ours = []
    for api in ApiKey:
        request, response = message_classes(api)
        assert str(request.versions) == str(response.versions)
        headers = [
            [request_header_version(request, version), response_header_version(response, version)]
            for version in _versions(request)
        ]
        ours.append(
            {
                "name": api_name(api),
                "key": int(api),
                "lowest": request.versions.low,
                "highest": request.versions.high,
                "headers": headers,
            }
        )
    theirs = [
        {**one, "name": one["name"][:1].upper() + one["name"][1:]}
        for one in oracle.apis()
        if one["lowest"] <= one["highest"]  # Kafka still lists the APIs it has removed.
    ]
    assert sorted(ours, key=lambda one: int(str(one["key"]))) == sorted(
        theirs, key=lambda one: int(one["key"])
    )


@pytest.mark.parametrize("cls", _all_messages(), ids=lambda cls: cls.__name__)
def test_tagged_fields_of_a_newer_peer_are_kept_as_kafka_keeps_them(
    cls: type[Message], oracle: MessageOracle
) -> None:
    for version in _versions(cls):
        if version not in cls.flexible:
            continue
        message = build(cls, version, plain)
        message.unknown_tags = {9_999: b"from the future", 10_000: b""}
        ours = encode(message, version)
        _, again = oracle.decode(cls.__name__, version, ours)
        assert again.hex() == ours.hex(), version
        read = decode(cls, version, ours)
        assert read.unknown_tags == message.unknown_tags
        assert encode(read, version).hex() == ours.hex(), version


def test_every_record_of_the_metadata_log_is_there_with_kafkas_key_and_versions(
    oracle: MessageOracle,
) -> None:
    ours = {
        cls.api_key: (cls.__name__, cls.versions.low, cls.versions.high)
        for cls in _messages_of(metadata_records)
        if issubclass(cls, metadata_records.MetadataRecord)
    }
    theirs = {
        one["key"]: (one["name"], one["lowest"], one["highest"])
        for one in oracle.metadata_records()
    }
    assert ours == theirs
