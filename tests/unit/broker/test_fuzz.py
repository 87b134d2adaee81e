"""Whatever a client sends, a response or the end of its connection comes out, and nothing else.

Frames are sound requests of every served API with damage, and noise. The seed is fixed, so a
failure comes back; FUZZ_SEED tries others.
"""

import os
import random
from struct import pack
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.api_table import Api
from headrace.broker.parked import Close
from headrace.protocol.apis import ApiKey
from headrace.protocol.schema import Request
from headrace.records.batch import read_header, stamp_crc
from headrace.records.codecs import Codec
from tests.support.message_values import build, plain, sample_messages
from tests.unit.broker.batches import (
    NOW,
    batch,
    fetch,
    fetch_request,
    list_offset,
    offsets,
    produce,
    produce_request,
)
from tests.unit.broker.frames import decode_response, request_frame
from tests.unit.broker.harness import Broker

ROUNDS = 100
SEED = int(os.environ.get("FUZZ_SEED", "20240918"))
#: Large enough for every API to be met often, small enough for a unit test.
_LARGEST_TOPIC_COUNT = 200


def samples(api: Api, version: int) -> list[Any]:
    """Sound requests of one version; those that make sense to this broker first."""
    found: list[Any] = [build(api.request, version, plain)]
    if api.key == ApiKey.PRODUCE:
        found += [
            produce_request(("t", 0, batch(3)), ("c", 0, batch(70, codec=Codec.LZ4)), acks=acks)
            for acks in (0, 1, -1)
        ]
    if api.key == ApiKey.FETCH:
        found += [
            fetch_request(("t", 0, 0), ("c", 0, 1), max_wait_ms=wait, session_epoch=epoch)
            for wait, epoch in ((0, -1), (100, 0), (100, 1))
        ]
    found += [message for _, message in sample_messages(api.request, version)]
    for message in found:
        _keep_small(message)
    return found


def _keep_small(message: Any) -> None:
    """A sound request for two billion partitions is refused elsewhere; here it costs time."""
    for topic in getattr(message, "topics", None) or ():
        for name in ("num_partitions", "count"):
            if getattr(topic, name, 0) > 10:
                setattr(topic, name, 3)


def damaged(chance: random.Random, frame: bytes) -> bytes:
    kind = chance.randrange(5)
    start = chance.randrange(len(frame) + 1)
    if kind == 0:
        return frame[:start]
    if kind == 1:
        changed = bytearray(frame)
        for _ in range(chance.randint(1, 5)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    if kind == 2:
        nasty = chance.choice((b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80" * 5, bytes(8)))
        return frame[:start] + nasty + frame[start + len(nasty) :]
    if kind == 3:
        return frame[:start] + chance.randbytes(chance.randint(1, 9)) + frame[start:]
    return frame[:start] + chance.randbytes(chance.randint(0, 40))


class Watched:
    """Sends frames and checks what becomes of each."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.responses = 0
        self.closes = 0
        self.silences = 0

    def send(self, frame: bytes) -> None:
        replies: list[Any] = []
        view = memoryview(bytearray(frame))
        waiting = self._broker.dispatcher.serve(self._broker.connection, view, replies.append)
        self._broker.scheduler.settle()
        if waiting is not None and not replies:
            self._broker.clock.advance(3_000_000_000)
            self._broker.scheduler.fire_due()
        assert len(replies) == 1, f"{len(replies)} replies"
        (reply,) = replies
        if isinstance(reply, Close):
            self.closes += 1
        elif reply is None:
            assert frame[:2] == pack(">h", ApiKey.PRODUCE)
            self.silences += 1
        else:
            self.responses += 1
            self._check(frame, b"".join(reply) if isinstance(reply, list) else reply)

    @staticmethod
    def _check(frame: bytes, raw: bytes) -> None:
        """A response is whole, has the request's id, and can be decoded."""
        key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
        if key == ApiKey.API_VERSIONS and not 0 <= version <= 4:
            version = 0
        correlation_id, _ = decode_response(key, version, raw)
        assert pack(">i", correlation_id) == frame[4:8]


@pytest.fixture
def watched(broker: Broker) -> Watched:
    broker.create_topic("t", 2)
    broker.create_topic("c", compression_type="zstd", cleanup_policy="compact")
    return Watched(broker)


def still_works(broker: Broker) -> None:
    name = f"afterwards-{broker.plane.log_end_offset}"
    broker.create_topic(name)
    assert produce(broker, batch(2), name).base_offset == 0
    assert fetch(broker, topic=name).high_watermark == 2


def test_sound_requests_of_every_version_are_answered(
    broker: Broker, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    for api in broker.table:
        for version in range(api.version_min, api.version_max + 1):
            for request in samples(api, version):
                watched.send(request_frame(request, version))
    assert watched.responses > 500
    assert _failures(caplog) == []
    still_works(broker)


def test_damaged_requests_are_answered_or_end_the_connection(
    broker: Broker, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(SEED)
    frames = [
        request_frame(request, version)
        for api in broker.table
        for version in range(api.version_min, api.version_max + 1)
        for request in samples(api, version)
        if _is_short(request, version)
    ]
    for _ in range(ROUNDS):
        for frame in frames:
            if len(broker.plane.image.topics_by_name) < _LARGEST_TOPIC_COUNT or not _creates(frame):
                data = damaged(chance, frame)
                try:
                    watched.send(data)
                except Exception as error:
                    pytest.fail(f"{error!r} on {data.hex()}")
    assert watched.responses > 1_000
    assert watched.closes > 1_000
    assert _failures(caplog) == []
    still_works(broker)


def _failures(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Handlers that met something they had not thought of."""
    return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


def _is_short(request: Request, version: int) -> bool:
    return len(request_frame(request, version)) < 1_500


def _creates(frame: bytes) -> bool:
    return frame[:2] in (pack(">h", ApiKey.METADATA), pack(">h", ApiKey.CREATE_TOPICS))


def test_noise_ends_the_connection(broker: Broker, watched: Watched) -> None:
    chance = random.Random(SEED)
    for _ in range(5_000):
        key = chance.choice((chance.randrange(-32768, 32768), chance.randrange(100)))
        version = chance.randrange(-1, 20)
        noise = chance.randbytes(chance.randrange(80))
        watched.send(chance.choice((noise, pack(">hh", key, version) + noise)))
    assert watched.closes > 2_000
    still_works(broker)


def test_batches_with_a_bad_inside_are_refused_or_passed_on_and_no_reader_stumbles(
    broker: Broker, watched: Watched
) -> None:
    """The header and the checksum are right, what they cover is not."""
    chance = random.Random(SEED)
    codes: dict[str, set[int]] = {"t": set(), "c": set()}
    for number in range(3_000):
        data = batch(chance.randint(1, 100), codec=Codec(number % 5), timestamp=NOW + number)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(61, len(data))] = chance.randrange(256)
        stamp_crc(data, 0, len(data))
        for topic in ("t", "c"):
            codes[topic].add(produce(broker, bytes(data), topic).error_code)
    assert codes["t"] == {ErrorCode.NONE}
    # An inside that happens to be sound after all is taken.
    assert codes["c"] <= {
        ErrorCode.NONE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.MESSAGE_TOO_LARGE,
    }
    assert ErrorCode.CORRUPT_MESSAGE in codes["c"]
    _read_to_the_end(broker)


def _read_to_the_end(broker: Broker) -> None:
    end = broker.partition("t").log.log_end_offset
    offset = 0
    while offset < end:
        found = offsets(fetch(broker, offset, max_bytes=1 << 16))
        assert found
        last = broker.partition("t").log.read(found[-1], 1, end_offset=end)
        offset = read_header(last).next_offset
    for timestamp in range(NOW, NOW + 3_200, 100):
        assert list_offset(broker, timestamp).error_code == ErrorCode.NONE
    assert list_offset(broker, -3).error_code == ErrorCode.NONE
