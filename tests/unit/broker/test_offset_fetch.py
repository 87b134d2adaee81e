"""OffsetFetch: nothing is answered twice, and what is much is answered in steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.groups.offset_reads import FetchOffsets
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.unit.broker.harness import Broker
from tests.unit.broker.one_coordinator import (
    ask,
    coordinator,
    one_coordinator,
    turns_until_answered,
)

PARTITIONS = 20


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with one_coordinator(tmp_path, t=PARTITIONS, u=1) as running:
        yield running


def commit(broker: Broker, group_id: str, topic: str = "t", partitions: int = PARTITIONS) -> None:
    for partition in range(partitions):
        key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
        coordinator(broker).apply(key, OffsetCommitValue(offset=100 + partition), -1)


def asking(
    *group_ids: str, topics: list[OffsetFetchRequestTopics] | None = None
) -> OffsetFetchRequest:
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=name, topics=topics) for name in group_ids]
    )


def looked_at(broker: Broker) -> list[str]:
    """The groups that the coordinator looks at from now on."""
    seen: list[str] = []
    handle = coordinator(broker).handle

    def watched(token: int, request: Any, client: Any, now_ms: int) -> Any:
        assert isinstance(request, FetchOffsets)
        seen.append(request.group_id)
        return handle(token, request, client, now_ms)

    coordinator(broker).handle = watched  # type: ignore[method-assign]
    return seen


def indexes(topic: Any) -> list[int]:
    return [partition.partition_index for partition in topic.partitions]


@pytest.mark.parametrize("version", [8, 9, 10])
def test_a_group_is_answered_once_however_often_it_is_named(broker: Broker, version: int) -> None:
    commit(broker, "g")
    commit(broker, "h")
    seen = looked_at(broker)
    answer = broker.ask(asking(*["g", "h"] * 500, "g"), version)
    assert [group.group_id for group in answer.groups] == ["g", "h"]
    assert seen == ["g", "h"]
    assert indexes(answer.groups[0].topics[0]) == list(range(PARTITIONS))


def test_a_partition_is_answered_once_however_often_it_is_named(broker: Broker) -> None:
    commit(broker, "g")
    commit(broker, "g", "u", 1)
    topics = [
        OffsetFetchRequestTopics(name="t", partition_indexes=[3, 1, 3] * 1_000),
        OffsetFetchRequestTopics(name="u", partition_indexes=[0]),
        OffsetFetchRequestTopics(name="t", partition_indexes=[1, 2]),
    ]
    (group,) = broker.ask(asking("g", topics=topics), 9).groups
    assert [(topic.name, indexes(topic)) for topic in group.topics] == [
        ("t", [3, 1, 2]),
        ("u", [0]),
    ]
    old = OffsetFetchRequestTopic(name="t", partition_indexes=[5] * 1_000)
    (topic,) = broker.ask(OffsetFetchRequest(group_id="g", topics=[old]), 7).topics
    assert indexes(topic) == [5]


def test_a_group_that_is_named_again_for_something_else_is_refused(broker: Broker) -> None:
    commit(broker, "g")
    request = asking("g")
    request.groups += asking("g", topics=[]).groups
    request.groups += [OffsetFetchRequestGroup(group_id="g", member_epoch=-7, topics=None)]
    first, *others = broker.ask(request, 9).groups
    assert indexes(first.topics[0]) == list(range(PARTITIONS))
    assert [(other.group_id, other.error_code, other.topics) for other in others] == [
        ("g", ErrorCode.INVALID_REQUEST, [])
    ] * 2


def test_many_groups_are_looked_at_and_answered_in_many_turns(broker: Broker) -> None:
    names = [f"g{number}" for number in range(1_000)]
    for name in names:
        commit(broker, name)
    seen = looked_at(broker)
    exchange = ask(broker, asking(*names, "unknown"))
    assert 0 < len(seen) < 200
    assert turns_until_answered(broker, exchange) > 15
    assert seen == [*names, "unknown"]
    groups = exchange.response.groups
    assert [group.group_id for group in groups] == seen
    for group in groups[:-1]:
        assert [one.committed_offset for one in group.topics[0].partitions] == list(
            range(100, 100 + PARTITIONS)
        )
    assert groups[-1].topics == []


def test_nothing_more_is_looked_at_for_a_client_that_is_gone(broker: Broker) -> None:
    names = [f"g{number}" for number in range(1_000)]
    for name in names:
        commit(broker, name)
    seen = looked_at(broker)
    exchange = ask(broker, asking(*names))
    assert exchange.parked is not None
    exchange.parked.abandon()
    before = len(seen)
    broker.scheduler.settle()
    assert len(seen) == before
    assert not exchange.is_answered


def test_nothing_is_asked_and_answered(broker: Broker) -> None:
    assert broker.ask(asking(), 9).groups == []
