"""Produces of transactions that are known: those after the first of each to a partition."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker import known_requests
from headrace.broker.authorization import Operation
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.protocol.schema import Request
from headrace.transactions.transaction import ProducerIdentity
from tests.support import transaction_requests as requests
from tests.unit.broker import known_reading
from tests.unit.broker.batches import batch
from tests.unit.broker.known_writing import VERSION, codes
from tests.unit.broker.twins import Pair, Twins

NONE = ErrorCode.NONE
NEW_PRODUCER = ProducerIdentity(-1, -1)


class Writer:
    """A producer with a transactional id, and the sequences it has used."""

    def __init__(self, twins: Twins, id_: str = "w") -> None:
        self._twins = twins
        self._id = id_
        self._sequences: Counter[int] = Counter()
        assert self.ask(requests.find(1, id_), 4).coordinators[0].error_code == NONE
        self.begin()

    def ask(self, request: Request, version: int) -> Any:
        return self._twins.send(request, version).response

    def begin(self) -> None:
        """Be the newest producer with this id."""
        request = requests.init(self._id, 60_000, NEW_PRODUCER)
        response = self.ask(request, 5)
        if response.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
            response = self.ask(request, 5)  # the transaction of the one before is ended now
        assert response.error_code == NONE
        self._become(response)

    def end(self, committed: bool = True) -> None:
        response = self.ask(requests.end(self._id, self.producer, committed), 5)
        assert response.error_code == NONE
        self._become(response)

    def _become(self, response: Any) -> None:
        self.producer = ProducerIdentity(response.producer_id, response.producer_epoch)
        self._sequences.clear()

    def data(self, partition: int, *, count: int = 1, **options: Any) -> bytes:
        """The next batch for a partition."""
        sequence = self._sequences[partition]
        self._sequences[partition] += count
        identity: dict[str, Any] = {
            "producer_id": self.producer.producer_id,
            "producer_epoch": self.producer.producer_epoch,
            "base_sequence": sequence,
            "transactional": True,
        }
        return bytes(batch(count, **(identity | options)))

    def send(self, batches: dict[int, bytes], id_: str | None = "w", acks: int = -1) -> Pair:
        parts = [
            PartitionProduceData(index=index, records=records) for index, records in batches.items()
        ]
        request = ProduceRequest(
            transactional_id=id_,
            acks=acks,
            timeout_ms=1_000,
            topic_data=[TopicProduceData(name="t", partition_data=parts)],
        )
        return self._twins.send(request, VERSION)

    def write(self, *partitions: int) -> list[int]:
        """One more batch to each; what was said to it."""
        return codes(self.send({index: self.data(index) for index in partitions}))


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    with Twins(tmp_path) as made:
        made.create_topic("t", 3)
        yield made


@pytest.fixture
def writer(twins: Twins, served: Counter[str]) -> Writer:
    """One that is known to write to a transaction, which is open in partition 0."""
    made = Writer(twins)
    for _ in range(3):
        assert made.write(0) == [NONE]
    assert served == {"produce": 1}
    served.clear()
    return made


def test_only_the_first_batch_of_a_transaction_takes_the_ordinary_way(
    writer: Writer, served: Counter[str]
) -> None:
    for committed in (True, False, True):
        writer.end(committed)
        served.clear()
        for _ in range(4):
            assert writer.write(0) == [NONE]
        assert served == {"produce not now": 1, "produce": 3}


def test_a_partition_is_let_in_before_its_first_batch(writer: Writer, served: Counter[str]) -> None:
    assert writer.write(0, 1) == [NONE, NONE]
    assert served == {"produce not now": 1}
    assert writer.write(1, 0) == [NONE, NONE]
    assert writer.write(2) == [NONE]
    assert writer.write(2, 1, 0) == [NONE] * 3
    assert served == {"produce not now": 2, "produce": 2}


def test_transactions_use_up_no_tries(
    writer: Writer, served: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_requests, "_TRIES_MAX", 4)
    for _ in range(8):
        writer.end()
        writer.write(0)
    served.clear()
    writer.write(0)
    assert served == {"produce": 1}


def test_a_zombie_is_refused(twins: Twins, writer: Writer, served: Counter[str]) -> None:
    Writer(twins)
    served.clear()
    assert writer.write(0) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert served == {"produce not now": 1}


def test_a_batch_that_comes_again_is_not_appended_again(
    twins: Twins, writer: Writer, served: Counter[str]
) -> None:
    again = writer.data(0)
    offsets = [
        writer.send({0: again}).response.responses[0].partition_responses[0].base_offset
        for _ in range(2)
    ]
    assert offsets == [3, 3]
    assert served == {"produce": 2}
    assert twins.knowing.partition("t").log.log_end_offset == 4


def test_a_gap_is_refused(writer: Writer) -> None:
    writer.data(0)
    assert writer.write(0) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]


def test_records_outside_of_the_transaction_are_refused(writer: Writer) -> None:
    plain = writer.data(0, transactional=False)
    assert codes(writer.send({0: plain})) == [ErrorCode.INVALID_TXN_STATE]


def test_records_of_nobody_go_beside_those_of_the_transaction(
    writer: Writer, served: Counter[str]
) -> None:
    nobody = bytes(batch())
    assert codes(writer.send({0: writer.data(0), 1: nobody})) == [NONE, NONE]
    assert served == {"produce": 1}


def test_two_producers_in_one_request_are_refused_whole(
    twins: Twins, writer: Writer, served: Counter[str]
) -> None:
    other = Writer(twins, "other")
    assert codes(other.send({1: other.data(1)}, "other")) == [NONE]
    served.clear()
    refused = writer.send({0: writer.data(0), 1: other.data(1)})
    assert codes(refused) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
    assert served == {"produce not now": 1}


def test_a_transaction_needs_its_id(twins: Twins, writer: Writer, served: Counter[str]) -> None:
    for _ in range(3):
        assert codes(writer.send({2: bytes(batch())}, None)) == [NONE]
    served.clear()
    refused = writer.send({0: writer.data(0)}, None)
    assert codes(refused) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    assert served == {"produce declined": 1}


def test_the_id_may_be_taken_away(twins: Twins, writer: Writer, served: Counter[str]) -> None:
    twins.authorizer.refused.add((Operation.WRITE, "w"))
    assert writer.write(0) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    assert served == {"produce declined": 1}


@pytest.mark.parametrize("isolation_level", [0, 1])
def test_readers_see_what_they_may(twins: Twins, writer: Writer, isolation_level: int) -> None:
    """Each reader is known, too, and waits for what is written, or for the end of it."""
    for committed in (True, False, True):
        end = twins.knowing.partition("t").log.log_end_offset
        waiting = known_reading.send(twins, end, isolation_level=isolation_level, max_wait_ms=500)
        writer.write(0)
        assert waiting.is_answered == (isolation_level == 0)
        writer.write(0)
        writer.end(committed)
        assert waiting.is_answered
