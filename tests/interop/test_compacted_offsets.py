"""Committed offsets after compaction and kill -9: the last ones are there, deleted groups are not.

The cleaner never rests and keeps no tombstone, so a group that came back would have nothing to
stop it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.groups.record_codec import GroupRecordCodec
from headrace.groups.records import OffsetCommitKey
from headrace.protocol.messages.delete_groups import DeleteGroupsRequest
from headrace.protocol.messages.list_groups import ListGroupsRequest
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from headrace.protocol.schema import Request
from tests.support.coordinator import wait_for_coordinator
from tests.support.dump import dump_directory
from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.raw_call import calls_to
from tests.support.readiness import eventually
from tests.support.reading import Seen, read_topic
from tests.support.tool_jvm import ToolJvm
from tests.support.workload import EAGER_CLEANER, create_topic

pytestmark = pytest.mark.no_second_chance

_SETTINGS = {
    **EAGER_CLEANER,
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
}
_TOPIC_SETTINGS = (
    "internal.segment.bytes=20000,min.cleanable.dirty.ratio=0.01,delete.retention.ms=0"
)
_PARTITIONS = 4
_GROUPS = 12
_COMMITS = 40

Call = Callable[[Request, int | None], Any]


class Offsets:
    """Commits of many groups, and what has to be there in the end."""

    def __init__(self) -> None:
        self.expected: dict[str, int] = {}
        self.deleted: set[str] = set()
        self._last = 0

    def commit(self, call: Call, groups: list[str]) -> None:
        """Every group, again and again."""
        for _ in range(_COMMITS):
            self._last += 1
            for group in groups:
                partitions = [
                    OffsetCommitRequestPartition(partition_index=n, committed_offset=self._last)
                    for n in range(_PARTITIONS)
                ]
                topic = OffsetCommitRequestTopic(name="orders", partitions=partitions)
                answer = call(OffsetCommitRequest(group_id=group, topics=[topic]), 8)
                assert {one.error_code for one in answer.topics[0].partitions} == {0}
                self.expected[group] = self._last

    def delete(self, call: Call, groups: list[str]) -> None:
        answer = call(DeleteGroupsRequest(groups_names=groups), None)
        assert {one.error_code for one in answer.results} == {0}
        for group in groups:
            del self.expected[group]
        self.deleted.update(groups)

    def check(self, call: Call) -> None:
        listed = {one.group_id for one in call(ListGroupsRequest(), None).groups}
        assert listed == self.expected.keys()
        wanted = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in self.expected]
        for group in call(OffsetFetchRequest(groups=wanted), 9).groups:
            (topic,) = group.topics
            found = {one.partition_index: one.committed_offset for one in topic.partitions}
            offset = self.expected[group.group_id]
            assert found == dict.fromkeys(range(_PARTITIONS), offset), group.group_id

    def is_compacted(self, records: list[Seen]) -> bool:
        """Nothing of deleted groups is left, and little of what was overwritten."""
        codec = GroupRecordCodec()
        decoded = [codec.decode(one.key or b"", one.value) for one in records]
        groups = {
            pair[0].group
            for pair in decoded
            if pair is not None and isinstance(pair[0], OffsetCommitKey)
        }
        return not groups & self.deleted and len(records) < _GROUPS * _PARTITIONS * _COMMITS


@pytest.mark.timeout(180)
def test_kept_offsets_are_there_and_deleted_groups_stay_gone(
    tmp_path: Path, tools: ToolJvm
) -> None:
    offsets = Offsets()
    with HeadraceNode(tmp_path / "data", settings=_SETTINGS) as node:
        create_topic(node, "orders", _PARTITIONS)
        wait_for_coordinator(node)
        headrace(
            "configs",
            *("--bootstrap-server", node.bootstrap, "--alter", "--entity-type", "topics"),
            *("--entity-name", "__consumer_offsets", "--add-config", _TOPIC_SETTINGS),
        )
        for life in range(3):
            groups = [f"group-{life}-{number}" for number in range(_GROUPS)]
            with calls_to(node) as call:
                offsets.commit(call, groups)
                offsets.delete(call, groups[::2])

                def is_compacted() -> bool:
                    # The segment that is written to is never compacted, and without news none is.
                    offsets.commit(call, groups[1::2])  # noqa: B023 - called at once
                    return offsets.is_compacted(read_topic(node, "__consumer_offsets"))

                eventually(is_compacted, timeout=90)
            node.kill()
            node.start()
            wait_for_coordinator(node)
            with calls_to(node) as call:
                offsets.check(call)
    dump_directory(node.directory, tools)
