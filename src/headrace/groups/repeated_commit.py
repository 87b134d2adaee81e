"""A commit that comes again and again with other offsets: most of what it writes is made once."""

from __future__ import annotations

from headrace.groups.records import OffsetCommitKey
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
)


class RepeatedCommit:
    """Goes to a coordinator like the request in it, but where that succeeds the answer is None.

    Whoever repeats a commit knows what the answer looks like.
    """

    __slots__ = ("parts", "request")

    def __init__(self, request: OffsetCommitRequest) -> None:
        """`request` changes in its offsets only."""
        self.request = request
        #: The key of each record, the id of its topic, and what is committed.
        self.parts: list[tuple[OffsetCommitKey, bytes, OffsetCommitRequestPartition]] = [
            (
                OffsetCommitKey(
                    group=request.group_id, topic=topic.name, partition=partition.partition_index
                ),
                topic.topic_id,
                partition,
            )
            for topic in request.topics
            for partition in topic.partitions
        ]

    def commit(self, offsets: tuple[int, ...]) -> None:
        """Take over what is to be committed next."""
        for (_, _, partition), offset in zip(self.parts, offsets, strict=True):
            partition.committed_offset = offset
