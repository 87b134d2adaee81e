"""Whether another run of the same pipeline has gone on: then this one would write again.

Two runs with checkpoints of their own (two machines, two state directories) share a group. A run
looks where the group stands when it starts, and the other may go on between that look and the
moment when this one takes the transactional id over. From that moment on nobody else can, so the
look that counts is the one behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.client.groups_offsets import CommittedOffset
from headrace.client.leaders import TopicPartition
from headrace.spark.errors import PipelineError
from headrace.spark.exactly_once_offsets import committed_by


def check_alone(
    committed: Mapping[TopicPartition, CommittedOffset],
    start: Mapping[TopicPartition, int],
    topics: Collection[str],
    query: str,
    group: str,
    name: str | None,
) -> None:
    """Raise PipelineError if another query has committed beyond where this batch starts.

    `start` has no partition that nobody had committed when this run was prepared. Only what the
    batch reads counts: a topic that is read no more keeps the offsets of the query that read it.
    """
    for (topic, index), found in sorted(committed.items()):
        owner = committed_by(found.metadata)
        if (
            topic not in topics
            or owner in (None, query)
            or found.offset <= start.get((topic, index), -1)
        ):
            continue
        way_out = (
            f" `headrace pipelines reset {name} --state` lets this one start there."
            if name is not None
            else " Keep one checkpoint for both, or give this one a group of its own."
        )
        raise PipelineError(
            f"Another run has gone on with group {group} and stands at offset {found.offset} of"
            f" {topic}-{index}; this one would write again what lies before.{way_out}"
        )
