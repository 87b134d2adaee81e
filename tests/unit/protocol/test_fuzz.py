"""Whatever bytes come in, a decoder returns a message or raises ProtocolError, in bounded memory.

200,000 inputs in every run: sound messages with damage, messages that lie about their counts,
messages cut off, and noise. The seed is fixed, so a failure comes back; FUZZ_SEED tries others.
"""

import os
import random
import tracemalloc
from collections.abc import Iterator

import pytest

from headrace.protocol.compiler import encode, read
from headrace.protocol.errors import ProtocolError
from headrace.protocol.messages.api_versions import ApiVersionsRequest
from headrace.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.protocol.messages.metadata import MetadataRequest
from headrace.protocol.schema import Field, Message
from headrace.protocol.wire import write_uvarint
from tests.support.message_values import build, plain, sample_messages
from tests.unit.protocol.every_message import Target, all_messages, api_messages
from tests.unit.protocol.mutations import damaged
from tests.unit.protocol.reference_codec import Count, write

INPUTS = 200_000
SEED = int(os.environ.get("FUZZ_SEED", "20240917"))
_MEGABYTE = 1 << 20
#: Numbers that a careless reader multiplies, allocates or loops over.
_LIES = (2**31 - 1, 2**30, 65_536, 10_000, -1)


def _outcome(target: Target, data: bytes) -> Message | None:
    """The message, or None for a refusal; any other exception is a finding."""
    try:
        return read(*target, data)[0]
    except ProtocolError:
        return None


def _damaged(chance: random.Random, seeds: list[bytes], counts: list[Count]) -> bytes:
    if counts and chance.random() < 0.25:
        return chance.choice(counts).replaced(seeds[0], chance.choice(_LIES[:4]))
    return damaged(chance, seeds)


def _short_samples(target: Target) -> list[bytes]:
    """The bytes of valid messages, without those whose length slows the run down."""
    samples = [encode(message, target[1]) for _, message in sample_messages(*target)]
    return [data for data in samples if len(data) < 2_000] or samples[:1]


def test_decoders_return_a_message_or_refuse() -> None:
    chance = random.Random(SEED)
    targets = all_messages()
    each = -(-INPUTS // len(targets))
    decoded = refused = 0
    for target in targets:
        cls, version = target
        written = write(build(cls, version, plain), version)
        fits = [count for count in written.counts if count.form != ">h"]
        seeds = [bytes(written.data), *_short_samples(target)]
        for _ in range(each):
            data = _damaged(chance, seeds, fits)
            try:
                message = _outcome(target, data)
                if message is None:
                    refused += 1
                else:
                    decoded += 1
                    encode(message, version)  # whatever was taken in can be passed on
            except Exception as error:
                pytest.fail(f"{cls.__name__} version {version}: {error!r} on {data.hex()}")
    assert decoded + refused >= INPUTS
    # Both sides of every decoder were seen.
    assert min(decoded, refused) > INPUTS // 10


def _lying(targets: list[Target]) -> Iterator[tuple[Target, Count, bytes]]:
    """Each count of each message replaced by the largest number that fits there."""
    for cls, version in targets:
        written = write(build(cls, version, plain), version)
        # Two elements of an array are read by the same lines: one of them will do.
        for count in {count.name: count for count in written.counts}.values():
            largest = 2**15 - 1 if count.form == ">h" else 2**31 - 1
            yield (cls, version), count, count.replaced(bytes(written.data), largest)


def test_no_count_allocates_more_than_the_input_can_hold() -> None:
    for target in api_messages():
        _outcome(target, b"")  # compiles the reader, which is not what is measured
    tracemalloc.start()
    try:
        tried = 0
        for target, count, data in _lying(api_messages()):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            assert _outcome(target, data) is None, (target, count)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < _MEGABYTE, (target, count)
            tried += 1
        assert tried > 2_000
    finally:
        tracemalloc.stop()


def _smallest(field: Field, version: int) -> object:
    """Empty rather than null where both are possible: an empty list costs more memory."""
    if field.kind == "array":
        return []
    if field.kind == "struct":
        assert field.struct is not None
        return build(field.struct, version, _smallest)
    empty = {"records": b"", "bytes": b"", "string": ""}
    return empty.get(field.kind, field.default_value)


def _crowded(target: Target, name: str, field: Field, size: int) -> bytes:
    """A message of about `size` bytes with as many elements in one array as go in."""
    cls, version = target
    assert field.element is not None
    element = _smallest(field.element, version) if field.element.struct else plain(field.element, 0)
    message = cls()
    setattr(message, name, [element])
    once = len(encode(message, version))
    setattr(message, name, [element, element])
    each = len(encode(message, version)) - once
    setattr(message, name, [element] * (size // each))
    return encode(message, version)


def _arrays(targets: list[Target]) -> Iterator[tuple[Target, str, Field]]:
    for cls, version in targets:
        for name, field in cls.fields.items():
            if version in field.versions and field.kind == "array":
                yield (cls, version), name, field


#: Memory per byte of input at most: an element of an array may take two bytes on the wire, and
#: costs a Python object with an empty list or two.
_MEMORY_PER_BYTE_MAX = 80


def test_a_crowded_message_costs_a_bounded_multiple_of_its_bytes() -> None:
    for target, name, field in _arrays(api_messages()):
        data = _crowded(target, name, field, 1_000)
        _outcome(target, data)
        tracemalloc.start()
        message = read(*target, data)[0]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert getattr(message, name)
        assert peak < _MEMORY_PER_BYTE_MAX * len(data), (target, name)


def test_a_request_with_more_elements_than_anybody_needs_is_refused() -> None:
    """Elements cost more time and memory than their bytes suggest, and all clients would wait."""
    topics = MetadataRequest.fields["topics"]
    fits = _crowded((MetadataRequest, 12), "topics", topics, 18 * 999_000)
    assert len(read(MetadataRequest, 12, fits)[0].topics or ()) == 999_000
    crowd = [FetchPartition()] * 600_000
    request = FetchRequest(topics=[FetchTopic(partitions=crowd), FetchTopic(partitions=crowd)])
    with pytest.raises(ProtocolError, match="more than 1000000 elements"):
        read(FetchRequest, 12, encode(request, 12))


def test_a_crowd_of_tagged_fields_is_refused() -> None:
    empty = encode(ApiVersionsRequest(), 3)
    assert empty.endswith(b"\0")
    tags = b"".join(b"%c\0" % (number % 100 + 1) for number in range(1_000_001))
    with pytest.raises(ProtocolError, match="more than 1000000 elements"):
        read(ApiVersionsRequest, 3, empty[:-1] + write_uvarint(1_000_001) + tags)
    tags = b"".join(write_uvarint(number) + b"\0" for number in range(1_001))
    with pytest.raises(ProtocolError, match="more than 1000 unknown"):
        read(ApiVersionsRequest, 3, empty[:-1] + write_uvarint(1_001) + tags)
