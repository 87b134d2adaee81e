"""A small consumer for our own tools: it reads partitions from given offsets, without a group."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from headrace.base.errors import RETRIABLE, ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import ConnectionFailedError, error_for_code
from headrace.client.fetch_request import FetchConfig, post_fetch
from headrace.client.fetched import FetchedBatch, read_fetched
from headrace.client.leaders import NO_LEADER, TopicPartition, find_leaders, group_by_leader
from headrace.client.readable import wait_readable
from headrace.client.resetting import reset_positions
from headrace.protocol.messages.fetch import FetchResponse, PartitionData


class PartitionReader:
    """Reads any number of partitions; each `poll` asks all their leaders at the same time."""

    def __init__(
        self,
        client: KafkaClient,
        config: FetchConfig,
        on_reset: Callable[[dict[TopicPartition, int]], None] | None = None,
    ) -> None:
        """`on_reset` hears of offsets that were gone, and where reading goes on instead."""
        self._client = client
        self._config = config
        self._on_reset = on_reset
        self.positions: dict[TopicPartition, int] = {}
        self._leaders: dict[TopicPartition, int] = {}
        self._back_off = False

    def assign(self, positions: dict[TopicPartition, int]) -> None:
        """Begin to read further partitions at these offsets."""
        self.positions |= positions

    def poll(self, max_wait_ms: int) -> Iterator[FetchedBatch]:
        """Ask the leaders once and yield what arrives; positions move on as batches are taken.

        To be exhausted before the next call.
        """
        self._rotate()
        if self._back_off:
            self._back_off = False
            time.sleep(self._client.config.retry_backoff_ms / 1000)
        wait_ms = min(max_wait_ms, self._config.max_wait_ms)
        asked = self._post_all(wait_ms)
        if not asked:
            self._back_off = True
            self._leaders.clear()
            return
        deadline = time.monotonic() + (wait_ms + self._client.config.request_timeout_ms) / 1000
        while asked:
            for connection in _ready(asked, deadline):
                asked.remove(connection)
                try:
                    answer = connection.take(FetchResponse)
                except ConnectionFailedError:
                    self._start_over()
                    return
                yield from self._take(answer)

    def _rotate(self) -> None:
        """Each time another partition is first, so that one with a backlog starves no other."""
        if self.positions:
            first = next(iter(self.positions))
            self.positions[first] = self.positions.pop(first)

    def _post_all(self, wait_ms: int) -> list[BlockingConnection]:
        missing = {topic for topic, _ in self.positions.keys() - self._leaders.keys()}
        if missing:
            self._leaders |= find_leaders(self._client, missing)
        asked = []
        for leader, partitions in group_by_leader(self.positions, self._leaders).items():
            if leader == NO_LEADER:
                self._back_off = True
                for partition in partitions:
                    self._leaders.pop(partition, None)
                continue
            try:
                connection = self._client.node(leader)
                positions = {partition: self.positions[partition] for partition in partitions}
                post_fetch(connection, positions, self._config, wait_ms)
                asked.append(connection)
            except ConnectionFailedError:
                self._start_over()
                return []
        return asked

    def _start_over(self) -> None:
        """A broken connection: ask the cluster anew who leads; a dead cluster raises there."""
        self._client.close()
        self._client.refresh()
        self._leaders.clear()
        self._back_off = True

    def _take(self, answer: FetchResponse) -> Iterator[FetchedBatch]:
        if answer.error_code:
            raise error_for_code(answer.error_code)
        for topic in answer.responses:
            for data in topic.partitions:
                partition = (topic.topic, data.partition_index)
                if partition not in self.positions:
                    continue
                if data.error_code:
                    self._mend(partition, data)
                    continue
                yield from self._batches(partition, data)

    def _batches(self, partition: TopicPartition, data: PartitionData) -> Iterator[FetchedBatch]:
        if not data.records:
            return
        start = self.positions[partition]
        for batch in read_fetched(
            partition, data, start, read_committed=self._config.read_committed
        ):
            self.positions[partition] = batch.next_offset
            yield batch

    def _mend(self, partition: TopicPartition, data: PartitionData) -> None:
        """Do what a partition's error asks for, or raise it."""
        code = data.error_code
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if self._config.reset_to is None:
                raise error_for_code(code)
            found = reset_positions(
                self._client,
                [partition],
                self._config.reset_to,
                read_committed=self._config.read_committed,
            )
            self.positions |= found
            if self._on_reset is not None:
                self._on_reset(found)
        elif code in RETRIABLE:
            self._leaders.pop(partition, None)
            self._back_off = True
        else:
            raise error_for_code(code)


def _ready(asked: list[BlockingConnection], deadline: float) -> list[BlockingConnection]:
    arrived = [connection for connection in asked if connection.has_arrived]
    if arrived:
        return arrived
    remaining = max(deadline - time.monotonic(), 0)
    readable = wait_readable(asked, remaining)
    if not readable:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{asked[0].name} did not answer in time.")
    return readable
