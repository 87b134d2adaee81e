"""kio, another implementation of Kafka's protocol, reads and rewrites our bytes unchanged.

The first opinion is Kafka's own (tests/interop/test_protocol_bytes.py); this one needs no Java,
so every run of the unit tests has it.
"""

import io
from typing import Any

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.compiler import encode
from headrace.protocol.schema import ApiMessage, Request
from tests.support.message_values import build, plain


def _rewritten_by_kio(cls: type[ApiMessage], version: int, data: bytes) -> bytes:
    load = load_request_schema if issubclass(cls, Request) else load_response_schema
    schema: Any = load(cls.api_key, version)
    entity, end = entity_reader(schema)(data, 0)
    assert end == len(data)
    written = io.BytesIO()
    entity_writer(schema)(written, entity)
    return written.getvalue()


@pytest.mark.parametrize("api", ApiKey, ids=lambda api: api.name)
def test_kio_takes_every_version_of_an_api(api: ApiKey) -> None:
    for cls in message_classes(api):
        assert cls.versions.high is not None
        for version in range(cls.versions.low, cls.versions.high + 1):
            for message in (cls(), build(cls, version, plain)):
                data = encode(message, version)
                assert _rewritten_by_kio(cls, version, data).hex() == data.hex(), version
