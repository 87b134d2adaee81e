"""The function of foreachBatch behind `to_topic(..., exactly_once=True)`.

It finds out which query calls it, where the batch ends in its sources, and whether an earlier run
has committed it already; the writing itself is `exactly_once`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.base.errors import KafkaError
from headrace.client.groups_offsets import committed_offsets
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import ask_topics
from headrace.spark.errors import OptionError
from headrace.spark.exactly_once import BatchTransactions, GroupOffsets, Writing
from headrace.spark.exactly_once_cluster import HomeCluster
from headrace.spark.exactly_once_offsets import (
    existing,
    has_seen,
    metadata_for,
    source_ends,
    with_metadata,
)
from headrace.spark.exactly_once_rivals import check_alone
from headrace.spark.offsets import from_json
from headrace.spark.pipelines import context
from headrace.spark.query_thread import query_id
from headrace.spark.sink_errors import in_one_sentence
from headrace.spark.sink_options import SinkOptions


class ExactlyOnceOutput:
    """The function of foreachBatch: a transaction for each batch that was not committed before."""

    def __init__(
        self,
        spark: Any,
        options: SinkOptions,
        *,
        group: str | None,
        transactional_id: str | None,
        timeout: tuple[int, ...] = (),
    ) -> None:
        self._spark = spark
        self._options = options
        self._group = group
        self._transactional_id = transactional_id
        self._timeout = timeout
        self._home = HomeCluster(options.kafka)
        self._transactions: BatchTransactions | None = None
        #: The last batch that we know to be committed, with its query.
        self._last: tuple[str, int] | None = None

    def __call__(self, df: Any, batch_id: int) -> None:
        query = query_id(df.sparkSession) or "none"
        running = context.current(df.sparkSession)
        group = self._group or (running.group if running is not None else None)
        try:
            transactions = self._open(group, query)
            ends = source_ends(self._spark, query, batch_id) if group else []
            source = existing(transactions.client, self._home.offsets_of(ends))
            if running is not None and group == running.group:
                # Offsets of another cluster are not ours to commit: the runner does it then.
                running.commits_offsets_itself = bool(source)
            base = running.commit_metadata(batch_id) if running is not None else None
            marks = self._marks(transactions, group, query, batch_id, source, base)
            if self._last != (query, batch_id - 1):
                transactions.take_over()
                for name, rows in marks.items():
                    if has_seen(transactions.client, name, rows, query, batch_id):
                        self._last = (query, batch_id)
                        return
                if group is not None and source:
                    topics = {topic for topic, _ in source}
                    self._check_alone(transactions, group, topics, query, batch_id, running)
            transactions.write(df, lambda: marks)
        except KafkaError as error:
            self._close()
            raise in_one_sentence(error) from error
        except BaseException:
            self._close()
            raise
        self._last = (query, batch_id)

    def _open(self, group: str | None, query: str) -> BatchTransactions:
        if self._transactions is None:
            name = self._transactional_id or ".".join(
                filter(None, ("headrace", group or query, self._options.topic))
            )
            self._transactions = BatchTransactions(Writing(self._options, name, *self._timeout))
        return self._transactions

    def _marks(
        self,
        transactions: BatchTransactions,
        group: str | None,
        query: str,
        batch_id: int,
        source: Mapping[TopicPartition, int],
        base: str | None,
    ) -> GroupOffsets:
        """What the transaction commits besides records, so that a replay is recognised."""
        if group is not None and source:
            return {group: with_metadata(source, metadata_for(query, batch_id, base))}
        # No topic of this cluster is read: the number of the batch needs a place all the same, an
        # offset of the first output topic in a group that belongs to the transactional id alone.
        name = transactions.transactional_id
        topic = self._options.topic
        if topic is None:
            raise OptionError(
                "Exactly-once into several topics needs a group and a source of"
                ' format("headrace"): the number of a batch is kept with its offsets.'
            )
        client = transactions.client
        client.retry(lambda: ask_topics(client.any_node(), [topic], create=True))
        return {name: with_metadata({(topic, 0): batch_id}, metadata_for(query, batch_id))}

    def _check_alone(
        self,
        transactions: BatchTransactions,
        group: str,
        topics: set[str],
        query: str,
        batch_id: int,
        running: context.Running | None,
    ) -> None:
        """The first batch of a run starts where the group stands, or nobody else may have it."""
        if batch_id > 0:
            start = self._home.offsets_of(source_ends(self._spark, query, batch_id - 1))
        elif running is not None and group == running.group:
            start = from_json(running.starting or {})
        else:
            return  # a new checkpoint of the user's own: from where it reads is theirs to say
        committed = committed_offsets(transactions.client, group, require_stable=True)
        name = running.name if running is not None else None
        check_alone(committed, start, topics, query, group, name)

    def _close(self) -> None:
        """After an error the next run starts afresh: what is committed is looked up again."""
        if self._transactions is not None:
            self._transactions.close()
        self._transactions = None
        self._last = None
