"""Where a batch of a running query ends in its sources, and which batch a group has seen last.

Spark gives a foreachBatch function only the number of its batch. What the batch covers stands in
the query's offset log, which is written before the batch begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.client.blocking import KafkaClient
from headrace.client.groups_offsets import CommittedOffset, committed_offsets
from headrace.client.leaders import TopicPartition, find_leaders
from headrace.spark.options import kafka_settings, with_default_servers

#: The JVM's side of a streaming source written in Python. It has no better name for ours; another
#: one with offsets of the same shape, for topics that exist in the cluster, is not to be expected.
_PYTHON_SOURCE = "PythonMicroBatchStream"
_STREAM_NODE = "StreamingDataSourceV2ScanRelation"

_QUERY, _BATCH = "query", "batch"


@dataclass(frozen=True, slots=True)
class SourceEnd:
    """Where a batch ends in one source, and the settings of the cluster it reads."""

    offsets: Mapping[TopicPartition, int]
    #: Empty if Spark does not tell.
    kafka: Mapping[str, str] = field(default_factory=dict)


def source_ends(spark: Any, query: str, batch_id: int) -> list[SourceEnd]:
    """Where the batch ends in the topics that `format("headrace")` reads.

    `spark` is the session that the query was started in: a batch has a copy of it, which knows
    nothing of queries.
    """
    handle = spark._jsparkSession.streams().get(spark._jvm.java.util.UUID.fromString(query))
    if handle is None:
        return []
    execution = handle.streamingQuery()
    entry = execution.offsetLog().get(batch_id)
    if not entry.isDefined():
        return []
    relations = _relations(execution)
    offsets, sources = entry.get().offsets(), execution.sources()
    found = []
    for index in range(offsets.length()):
        offset, source = offsets.apply(index), sources.apply(index)
        if offset.isDefined() and _PYTHON_SOURCE in source.getClass().getName():
            ends = parse_offsets(offset.get().json())
            found.append(SourceEnd(ends, _settings(relations, source)))
    return found


def _relations(execution: Any) -> list[Any]:
    """The nodes of the query's plan that read streams; a stream itself has no public options."""
    leaves = execution.logicalPlan().collectLeaves()
    nodes = [leaves.apply(index) for index in range(leaves.length())]
    return [node for node in nodes if _STREAM_NODE in node.getClass().getName()]


def _settings(relations: Iterable[Any], source: Any) -> dict[str, str]:
    for node in relations:
        if node.stream().equals(source):
            options = dict(node.relation().options().asCaseSensitiveMap())
            return with_default_servers(kafka_settings(options))
    return {}


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """`{"topic": {"0": 12}}`; nothing from a source that has offsets of another shape."""
    try:
        topics = json.loads(text)
        return {
            (str(topic), int(partition)): int(offset)
            for topic, partitions in topics.items()
            for partition, offset in partitions.items()
        }
    except (ValueError, AttributeError, TypeError):
        return {}


def metadata_for(query: str, batch_id: int, base: str | None = None) -> str:
    """What goes with the committed offsets; `base` is what the pipeline runner adds itself."""
    fields = json.loads(base) if base else {}
    return json.dumps({**fields, _QUERY: query, _BATCH: batch_id}, separators=(",", ":"))


def has_seen(
    client: KafkaClient, group: str, partitions: Iterable[TopicPartition], query: str, batch: int
) -> bool:
    """Whether a committed transaction of this query has this batch, or a later one, in it."""
    committed = committed_offsets(client, group, require_stable=True)
    return any(
        _is_from(committed[partition].metadata, query, batch)
        for partition in partitions
        if partition in committed
    )


def existing(
    client: KafkaClient, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Without what is not there any more, whose offsets no transaction can hold."""
    known = find_leaders(client, {topic for topic, _ in offsets}) if offsets else {}
    return {partition: offset for partition, offset in offsets.items() if partition in known}


def with_metadata(
    offsets: Mapping[TopicPartition, int], metadata: str
) -> dict[TopicPartition, CommittedOffset]:
    return {
        partition: CommittedOffset(offset, metadata=metadata)
        for partition, offset in offsets.items()
    }


def committed_by(metadata: str) -> str | None:
    """The query whose transaction committed an offset; None if it was none of ours."""
    return _mark(metadata)[0]


def _is_from(metadata: str, query: str, batch: int) -> bool:
    owner, last = _mark(metadata)
    return owner == query and last >= batch


def _mark(metadata: str) -> tuple[str | None, int]:
    try:
        fields = json.loads(metadata)
        return str(fields[_QUERY]), int(fields[_BATCH])
    except (ValueError, KeyError, TypeError):
        return None, -1
