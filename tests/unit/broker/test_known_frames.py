"""Frames that are nearly as known: cut, changed or stretched at every byte, one is as good or as
bad as it would be on a connection that knows nothing."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.parked import Close
from headrace.protocol.schema import Request
from tests.unit.broker.batches import batch, fetch_request, produce_request
from tests.unit.broker.frames import request_frame
from tests.unit.broker.twins import FETCH, PRODUCE, Pair, Twins, new_connection

#: Behind the API's key, which would make it a request of another kind.
_VERSION_AT = 2


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    made = Twins(tmp_path)
    made.create_topic("t", 2)
    yield made
    made.close()


def mutations(frame: bytes) -> Iterator[bytes]:
    for at in range(_VERSION_AT, len(frame)):
        before, byte, behind = frame[:at], frame[at], frame[at + 1 :]
        yield before
        flipped = {byte ^ 1 << bit for bit in range(8)}
        for changed in (flipped | {byte - 1 & 0xFF, byte + 1 & 0xFF, 0, 0x7F, 0xFF}) - {byte}:
            yield before + bytes((changed,)) + behind
        yield before + b"\x00" + frame[at:]
        yield before + behind
    for more in (b"\x00", b"\x01", b"\xff" * 9):
        yield frame + more
    for key in (PRODUCE, FETCH):
        yield key.to_bytes(2, "big") + frame[2:]


class Mutated:
    """Sends frames that are nearly known, each on a connection to which the sound one is."""

    def __init__(self, twins: Twins, request: Request, version: int) -> None:
        self._twins = twins
        self._request = request
        self._version = version
        self._connection = twins.connection
        self.sound = request_frame(request, version)
        self.kinds: Counter[str] = Counter()

    def try_all(self) -> None:
        for frame in mutations(self.sound):
            self.meet()
            self.send(frame)
            self.send(self.sound)
            assert len(self._twins.pairs) < 10
            self._twins.pairs.clear()

    def check(self, served: Counter[str], name: str) -> None:
        """Whether that was a test at all."""
        assert served[name] > 500
        assert served[f"{name} declined"] > 500
        assert self.kinds["closed"] > 100

    def meet(self) -> None:
        self._connection = new_connection(self._twins.authorizer)
        for _ in range(2):
            self.send(self.sound)

    def send(self, frame: bytes) -> None:
        try:
            pair = self._twins.send_frame(frame, self._request, self._version, self._connection)
        except AssertionError as error:
            raise AssertionError(f"after {frame.hex()}: {error}") from error
        self.kinds[kind_of(pair)] += 1
        if pair.knowing.parked is not None:
            pair.abandon()


def kind_of(pair: Pair) -> str:
    if not pair.knowing.raw:
        return "waits"
    return "closed" if isinstance(pair.knowing.raw[0], Close) else "answered"


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", [9, 12, 13])
def test_produces_that_are_nearly_known(
    twins: Twins, served: Counter[str], version: int, acks: int
) -> None:
    """With a producer's sequence, so that nothing is written but once."""
    data = batch(producer_id=7, producer_epoch=0, base_sequence=0)
    request = produce_request(("t", 1, data), acks=acks)
    request.topic_data[0].topic_id = twins.knowing.partition("t").topic_id
    mutated = Mutated(twins, request, version)
    mutated.try_all()
    twins.check()
    mutated.check(served, "produce")


@pytest.mark.parametrize("max_wait_ms", [0, 500])
@pytest.mark.parametrize("version", [12, 13, 18])
def test_fetches_that_are_nearly_known(
    twins: Twins, served: Counter[str], version: int, max_wait_ms: int
) -> None:
    twins.send(produce_request(("t", 1, batch(5))), 12)
    topic = twins.knowing.partition("t").topic_id if version > 12 else "t"
    request = fetch_request((topic, 1, 5), max_wait_ms=max_wait_ms)
    mutated = Mutated(twins, request, version)
    mutated.try_all()
    twins.check()
    mutated.check(served, "fetch")


def test_fetches_in_a_session_that_are_nearly_known(twins: Twins, served: Counter[str]) -> None:
    twins.send(produce_request(("t", 1, batch(5))), 12)
    opening = fetch_request(("t", 1, 0), session_epoch=0)

    def next_frame(session_id: int, epoch: int) -> bytes:
        request = fetch_request(("t", 1, 0), session_id=session_id, session_epoch=epoch)
        return request_frame(request, 12)

    size = len(list(mutations(next_frame(1, 1))))
    for number in range(size):
        connection = new_connection(twins.authorizer)
        session_id = twins.send(opening, 12, connection=connection).response.session_id
        assert session_id > 0
        for epoch in (1, 2):
            twins.send_frame(next_frame(session_id, epoch), opening, 12, connection)
        frame = list(mutations(next_frame(session_id, 3)))[number]
        pair = twins.send_frame(frame, opening, 12, connection)
        if pair.knowing.parked is not None:
            pair.abandon()
        for epoch in (3, 4, -1):
            twins.send_frame(next_frame(session_id, epoch), opening, 12, connection)
        for broker in twins.brokers:
            broker.sessions._sessions.clear()
    twins.check()
    assert served["fetch"] > 400
