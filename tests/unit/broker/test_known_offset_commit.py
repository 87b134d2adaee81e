"""Commits that are known: what may have changed since, and what may be wrong with them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation
from headrace.broker.coordination.internal_topics import OFFSETS_TOPIC
from headrace.broker.known_offset_commit import PARTITIONS_MAX
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from headrace.replication.partition import Partition
from tests.unit.broker.frames import request_frame
from tests.unit.broker.twins import Pair, Twins

VERSION = 9
KNOWN = "offsetcommit"


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    """Topics `t` and `u`, and a client that is known to commit offsets of partition 0 of `t`."""
    with Twins(tmp_path, overrides={"offsets.topic.num.partitions": "1"}) as made:
        made.create_topic("t", 2 * PARTITIONS_MAX)
        made.create_topic("u", 2)
        made.send(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
        for offset in range(3):
            assert codes(commit(made, ("t", 0, offset))) == [ErrorCode.NONE]
        assert served == {KNOWN: 1}
        served.clear()
        yield made


def request_of(
    *commits: tuple[str, int, int], metadata: str = "", generation: int = -1
) -> OffsetCommitRequest:
    """(topic, partition, offset) each; neighbours of one topic share its entry."""
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=generation)
    for name, index, offset in commits:
        if not request.topics or request.topics[-1].name != name:
            request.topics.append(OffsetCommitRequestTopic(name=name))
        request.topics[-1].partitions.append(
            OffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_metadata=metadata
            )
        )
    return request


def commit(twins: Twins, *commits: tuple[str, int, int], metadata: str = "") -> Pair:
    return twins.send(request_of(*commits, metadata=metadata), VERSION)


def codes(pair: Pair) -> list[int]:
    return [one.error_code for topic in pair.response.topics for one in topic.partitions]


def committed(twins: Twins) -> dict[tuple[str, int], int]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    (group,) = twins.send(request, 8).response.groups
    return {
        (topic.name, one.partition_index): one.committed_offset
        for topic in group.topics
        for one in topic.partitions
    }


def test_the_offset_of_a_known_commit_is_stored(twins: Twins, served: Counter[str]) -> None:
    for offset in (7, 3, 2**62):
        assert codes(commit(twins, ("t", 0, offset))) == [ErrorCode.NONE]
        assert committed(twins) == {("t", 0): offset}
    assert served == {KNOWN: 3}


@pytest.mark.parametrize("version", [8, 9, 10])
def test_commits_are_known_in_every_flexible_version(
    twins: Twins, served: Counter[str], version: int
) -> None:
    request = request_of(("t", 1, 5))
    request.topics[0].topic_id = twins.knowing.partition("t").topic_id
    for _ in range(4):
        assert codes(twins.send(request, version)) == [ErrorCode.NONE]
    assert served == {KNOWN: 3}
    assert committed(twins)["t", 1] == 5


def test_several_partitions_of_several_topics_are_known_together(
    twins: Twins, served: Counter[str]
) -> None:
    for offset in range(4):
        pair = commit(twins, ("t", 0, offset), ("t", 5, 10 * offset), ("u", 1, 100 * offset))
        assert codes(pair) == [ErrorCode.NONE] * 3
    assert served[KNOWN] >= 2
    assert committed(twins) == {("t", 0): 3, ("t", 5): 30, ("u", 1): 300}


def test_a_commit_of_very_many_partitions_is_never_known(
    twins: Twins, served: Counter[str]
) -> None:
    for _ in range(4):
        commit(twins, *(("t", index, 1) for index in range(PARTITIONS_MAX + 1)))
    assert not served[KNOWN]


def test_other_metadata_is_not_mistaken_for_what_is_known(twins: Twins) -> None:
    long = "x" * 5000
    assert codes(commit(twins, ("t", 0, 1), metadata=long)) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert codes(commit(twins, ("t", 0, 1), metadata="note")) == [ErrorCode.NONE]


def test_a_topic_that_is_gone_is_told(twins: Twins) -> None:
    twins.delete_topic("t")
    assert codes(commit(twins, ("t", 0, 9))) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    twins.create_topic("t", 1)
    assert codes(commit(twins, ("t", 0, 10))) == [ErrorCode.NONE]


@pytest.mark.parametrize(
    ("refused", "code"),
    [("g", ErrorCode.GROUP_AUTHORIZATION_FAILED), ("t", ErrorCode.TOPIC_AUTHORIZATION_FAILED)],
)
def test_whoever_may_no_longer_commit_is_told_at_once(
    twins: Twins, refused: str, code: ErrorCode
) -> None:
    twins.authorizer.refused.add((Operation.READ, refused))
    assert codes(commit(twins, ("t", 0, 9))) == [code]
    twins.authorizer.refused.clear()
    assert committed(twins) == {("t", 0): 2}


def test_an_unknown_generation_has_its_error_each_time(twins: Twins) -> None:
    for _ in range(4):
        pair = twins.send(request_of(("t", 0, 9), generation=4), VERSION)
        assert codes(pair) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_log_that_cannot_be_written_is_told(
    twins: Twins, served: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    with monkeypatch.context() as patched:
        patched.setattr(Partition, "append", refuse)
        assert codes(commit(twins, ("t", 0, 9))) == [ErrorCode.NOT_COORDINATOR]
    assert codes(commit(twins, ("t", 0, 10))) == [ErrorCode.NONE]
    assert served == {KNOWN: 2}
    assert committed(twins) == {("t", 0): 10}


def test_a_coordinator_that_moved_away_is_told(twins: Twins) -> None:
    twins.delete_topic(OFFSETS_TOPIC)
    assert codes(commit(twins, ("t", 0, 9))) == [ErrorCode.NOT_COORDINATOR]


def test_a_damaged_frame_is_answered_as_if_nothing_were_known(twins: Twins) -> None:
    request = request_of(("t", 0, 1))
    frame = request_frame(request, VERSION, client_id="tester")
    for position in range(8, len(frame)):
        for changed in (frame[:position], frame[:position] + b"\xff" + frame[position + 1 :]):
            twins.send_frame(changed, request, VERSION).check()
