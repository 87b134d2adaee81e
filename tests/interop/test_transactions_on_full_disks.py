"""A transaction on a disk without room: refused so that a client can try again, and never torn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.protocol.schema import Request
from headrace.transactions.transaction import ProducerIdentity, TopicPartition
from tests.support import transaction_requests as requests
from tests.support.dump import dump_directory
from tests.support.headrace_node import HeadraceNode
from tests.support.raw_call import calls_to
from tests.support.readiness import eventually
from tests.support.reading import read_topic
from tests.support.small_disk import small_disk
from tests.support.tool_jvm import ToolJvm
from tests.support.transaction_talk import wall_ms
from tests.support.workload import create_topic

pytestmark = pytest.mark.no_second_chance

_SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
}
#: What producers try again after, without a new transaction or with one.
_TRY_AGAIN = {
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.TRANSACTION_ABORTABLE,
}
_NOBODY = ProducerIdentity(-1, -1)
_PLACE = TopicPartition("paid", 0)
#: So long that its record never fits where one of another id did not.
_ID = "producer-" + "x" * 500

Call = Callable[[Request, int | None], Any]


class Transaction:
    """What a producer asks, and the error codes that it gets."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.identity = _NOBODY
        eventually(self._begin)

    def _begin(self) -> bool:
        self._call(requests.find(1, _ID), 4)
        answer = self._call(requests.init(_ID, 600_000, _NOBODY), None)
        self.identity = ProducerIdentity(answer.producer_id, answer.producer_epoch)
        return not answer.error_code

    def produce(self, sequence: int, value: str) -> ErrorCode:
        request = requests.produce(_ID, self.identity, _PLACE, sequence, [value], wall_ms())
        (partition,) = self._call(request, 12).responses[0].partition_responses
        return ErrorCode(partition.error_code)

    def send_offset(self, offset: int, metadata: str = "") -> ErrorCode:
        self._call(requests.find(0, "group"), 4)
        request = requests.offsets(_ID, "group", self.identity, {_PLACE: offset})
        for topic in request.topics:
            topic.partitions[0].committed_metadata = metadata
        (topic_answer,) = self._call(request, None).topics
        return ErrorCode(topic_answer.partitions[0].error_code)

    def commit(self) -> ErrorCode:
        return ErrorCode(self._call(requests.end(_ID, self.identity, True), None).error_code)

    def begin_another(self, name: str) -> ErrorCode:
        """Of another producer, whose record takes a little of what room there is."""
        return ErrorCode(self._call(requests.init(name, 60_000, _NOBODY), None).error_code)


def refused(ask: Callable[[int], ErrorCode]) -> ErrorCode:
    """The first error; what comes before still fits into the last page of a file."""
    for number in range(500):
        code = ask(number)
        if code is not ErrorCode.NONE:
            return code
    raise AssertionError("the disk is larger than it should be")


def committed(call: Call) -> int:
    (group,) = call(requests.committed("group", _PLACE, True), 8).groups
    return int(group.topics[0].partitions[0].committed_offset)


def test_a_transaction_waits_for_room_and_is_whole_afterwards(
    tmp_path: Path, tools: ToolJvm
) -> None:
    with small_disk(tmp_path / "small", 24) as disk:
        with HeadraceNode(disk.path, settings=_SETTINGS) as node:
            create_topic(node, "paid")
            with calls_to(node) as call:
                transaction = Transaction(call)
                assert transaction.produce(0, "first") is ErrorCode.NONE
                eventually(lambda: transaction.send_offset(7) is ErrorCode.NONE)

                disk.fill()
                assert transaction.produce(1, "y" * 60_000) in _TRY_AGAIN
                assert refused(lambda n: transaction.send_offset(8 + n, "m" * 4_000)) in _TRY_AGAIN
                assert refused(lambda n: transaction.begin_another(f"other-{n}")) in _TRY_AGAIN
                assert transaction.commit() in _TRY_AGAIN
                assert node.child.is_running
                assert read_topic(node, "paid") == []

                disk.make_room()
                eventually(lambda: transaction.produce(1, "second") is ErrorCode.NONE)
                eventually(lambda: transaction.send_offset(9) is ErrorCode.NONE)
                eventually(lambda: transaction.commit() is ErrorCode.NONE)
                eventually(lambda: committed(call) == 9)
            assert values(node) == [b"first", b"second"]
            node.kill()
            node.start()
            with calls_to(node) as call:
                eventually(lambda: committed(call) == 9)
            assert values(node) == [b"first", b"second"]
        dump_directory(disk.path, tools)


def values(node: HeadraceNode) -> list[bytes | None]:
    return [record.value for record in read_topic(node, "paid")]
