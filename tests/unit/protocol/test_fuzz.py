"""Whatever bytes come in, a decoder returns a message or raises ProtocolError, in bounded memory.

200,000 inputs in every run: sound messages with damage, messages that lie about their counts,
messages cut off, and noise. The seed is fixed, so a failure comes back; FUZZ_SEED tries others.
"""

import os
import random
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from headrace.protocol.compiler import encode, read
from headrace.protocol.errors import ProtocolError
from headrace.protocol.schema import Field, Message
from tests.support.message_values import build, plain, sample_messages
from tests.unit.protocol.every_message import Target, all_messages, api_messages
from tests.unit.protocol.reference_codec import Count, write

INPUTS = 200_000
SEED = int(os.environ.get("FUZZ_SEED", "20240917"))
_MEGABYTE = 1 << 20
#: Numbers that a careless reader multiplies, allocates or loops over.
_LIES = (2**31 - 1, 2**30, 65_536, 10_000, -1)
_NASTY = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 10, b"\x80" * 5)

Mutation = Callable[[random.Random, bytes], bytes]


def _outcome(target: Target, data: bytes) -> Message | None:
    """The message, or None for a refusal; any other exception is a finding."""
    try:
        return read(*target, data)[0]
    except ProtocolError:
        return None


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _flip(chance: random.Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if damaged:
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged)


def _overwrite(chance: random.Random, data: bytes) -> bytes:
    nasty = chance.choice(_NASTY)
    start = chance.randrange(len(data) + 1)
    return data[:start] + nasty + data[start + len(nasty) :]


def _insert(chance: random.Random, data: bytes) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + chance.choice((*_NASTY, chance.randbytes(3))) + data[start:]


def _repeat(chance: random.Random, data: bytes) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:]


def _noise(chance: random.Random, data: bytes) -> bytes:
    return chance.randbytes(chance.randrange(64))


_MUTATIONS: tuple[Mutation, ...] = (_cut, _flip, _flip, _overwrite, _insert, _repeat, _noise)


def _damaged(chance: random.Random, seeds: list[bytes], counts: list[Count]) -> bytes:
    if counts and chance.random() < 0.25:
        return chance.choice(counts).replaced(seeds[0], chance.choice(_LIES[:4]))
    data = chance.choice(seeds)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data = chance.choice(_MUTATIONS)(chance, data)
    return data


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


def _crowded(target: Target, name: str, field: Field) -> bytes:
    """A message of some ten kilobytes with as many elements in one array as go in."""
    cls, version = target
    assert field.element is not None
    message = cls()
    element = _smallest(field.element, version) if field.element.struct else plain(field.element, 0)
    one = len(encode(build(cls, version, lambda f, v: f.default_value), version))
    setattr(message, name, [element])
    size = max(1, len(encode(message, version)) - one)
    setattr(message, name, [element] * (10_000 // size))
    return encode(message, version)


#: Memory per byte of input at most. An element of an array costs a Python object of some fifty
#: bytes and may take two bytes on the wire.
_MEMORY_PER_BYTE_MAX = 100


def test_a_crowded_message_costs_a_bounded_multiple_of_its_bytes() -> None:
    worst = (0.0, "")
    for target in api_messages():
        cls, version = target
        for name, field in cls.fields.items():
            if version not in field.versions or field.kind != "array":
                continue
            data = _crowded(target, name, field)
            read(cls, version, data)
            tracemalloc.start()
            message = read(cls, version, data)[0]
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert message is not None
            if peak/len(data) > 40: print(peak / len(data), f"{cls.__name__} {version} {name} {len(data)}")
            worst = max(worst, (peak / len(data), f"{cls.__name__} {version} {name} {len(data)}"))
    assert worst[0] < _MEMORY_PER_BYTE_MAX, worst
