"""Sending batches again after an error, in order: one batch of each partition at a time.

Slow and simple on purpose. A batch keeps the sequence it had, so a broker that already has it says
so; the next one of its partition follows only when it is acknowledged.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, MutableMapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.batch_request import Batch, read_answer, request_for
from headrace.client.blocking import KafkaClient
from headrace.client.errors import PASSING, ConnectionFailedError
from headrace.client.leaders import NO_LEADER, TopicPartition, find_leaders, group_by_leader
from headrace.client.send_config import SendConfig
from headrace.protocol.messages.produce import ProduceResponse
from headrace.records.batch import read_header
from headrace.records.builder import build_batch
from headrace.records.producer_stamp import next_sequence
from headrace.records.reader import read_batch
from headrace.records.record import Record

Waiting = MutableMapping[TopicPartition, deque[Batch]]


def resend(client: KafkaClient, waiting: Waiting, config: SendConfig) -> int:
    """Send all that waits; returns how many records were acknowledged, or raises the last error.

    `waiting` loses what is acknowledged and is empty in the end.
    """
    deadline = time.monotonic() + config.delivery_timeout_ms / 1000
    backoff_ms = client.config.retry_backoff_ms
    records = 0
    while waiting:
        acknowledged, trouble = _round(client, waiting, config)
        records += acknowledged
        if trouble is None:
            continue
        if acknowledged:
            backoff_ms = client.config.retry_backoff_ms
        if time.monotonic() + backoff_ms / 1000 >= deadline:
            raise KafkaError(
                trouble.code,
                f"{_count(waiting)} records were not acknowledged within"
                f" {config.delivery_timeout_ms} ms (delivery.timeout.ms). {trouble.message}",
            )
        time.sleep(backoff_ms / 1000)
        backoff_ms = min(backoff_ms * 2, client.config.retry_backoff_max_ms)
    return records


def _round(
    client: KafkaClient, waiting: Waiting, config: SendConfig
) -> tuple[int, KafkaError | None]:
    """One request to each leader, with the first batch of each of its partitions."""
    heads = {partition: batches[0] for partition, batches in waiting.items()}
    try:
        leaders = find_leaders(client, {topic for topic, _ in heads})
    except KafkaError as failure:
        if failure.code not in PASSING:
            raise
        client.close()
        return 0, failure
    records = 0
    trouble: KafkaError | None = None
    for leader, partitions in group_by_leader(heads, leaders).items():
        batches = [heads[partition] for partition in partitions]
        outcomes = _ask(client, leader, batches, config)
        for batch in batches:
            error = outcomes[batch.partition]
            if error is None:
                records += batch.count
                _drop_first(waiting, batch.partition)
            elif error.code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
                waiting[batch.partition].popleft()
                waiting[batch.partition].extendleft(reversed(halves(batch)))
            elif error.code in PASSING:
                trouble = error
            else:
                raise error
    return records, trouble


def _ask(
    client: KafkaClient, leader: int, batches: list[Batch], config: SendConfig
) -> Mapping[TopicPartition, KafkaError | None]:
    try:
        if leader == NO_LEADER:
            topic, index = batches[0].partition
            raise KafkaError(
                ErrorCode.LEADER_NOT_AVAILABLE,
                f"Partition {index} of topic {topic} has no leader now.",
            )
        connection = client.node(leader)
        request, version = request_for(connection, batches, config)
        answer = connection.call(
            request, ProduceResponse, version=version, timeout_ms=config.answer_timeout_ms
        )
    except ConnectionFailedError as error:
        client.close()
        return dict.fromkeys((batch.partition for batch in batches), error)
    except KafkaError as error:
        return dict.fromkeys((batch.partition for batch in batches), error)
    return read_answer(answer, batches)


def halves(batch: Batch) -> list[Batch]:
    """A batch too large for its topic, in two: sequences go on from one to the other."""
    header = read_header(batch.data)
    records = list(read_batch(batch.data))
    middle = len(records) // 2
    parts = []
    for first, rows in ((0, records[:middle]), (middle, records[middle:])):
        sequence = header.base_sequence
        data = build_batch(
            [Record(n, r.timestamp, r.key, r.value, r.headers) for n, r in enumerate(rows)],
            codec=header.codec,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=sequence if sequence < 0 else next_sequence(sequence, first),
            transactional=header.is_transactional,
        )
        parts.append(Batch(batch.partition, data, len(rows)))
    return parts


def _drop_first(waiting: Waiting, partition: TopicPartition) -> None:
    waiting[partition].popleft()
    if not waiting[partition]:
        del waiting[partition]


def _count(waiting: Waiting) -> int:
    return sum(batch.count for batches in waiting.values() for batch in batches)
