"""Finished record batches to the leaders of their partitions, several requests in flight.

The bulk counterpart of `producing`: the caller encodes, this sends. One thread; while a broker
works on a request the caller makes the next batch. What is refused or lost with a connection is
sent again by `batch_resending`, with the sequences it had, so that nothing doubles and nothing
changes its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.base.errors import RETRIABLE, ErrorCode, KafkaError
from headrace.client.batch_request import Batch, read_answer, request_for
from headrace.client.batch_resending import resend
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import ConnectionFailedError
from headrace.client.leaders import NO_LEADER, TopicPartition, find_leaders, group_by_leader
from headrace.client.send_config import SendConfig
from headrace.protocol.messages.produce import ProduceResponse
from headrace.records.batch import read_header


@dataclass(slots=True)
class _Request:
    connection: BlockingConnection
    batches: list[Batch]


class BatchSender:
    """Sends batches of any topics; `flush` returns when everything is acknowledged."""

    def __init__(self, client: KafkaClient, config: SendConfig) -> None:
        self._client = client
        self._config = config
        self._leaders: dict[TopicPartition, int] = {}
        #: Requests without an answer, oldest first, by leader.
        self._in_flight: dict[int, deque[_Request]] = {}
        #: Batches without an acknowledgement, in the order of their sequences.
        self._waiting: dict[TopicPartition, deque[Batch]] = {}
        self.records_acknowledged = 0

    def send(self, batches: Iterable[Batch]) -> None:
        """Send stamped batches; waits where too many requests are in flight already."""
        pending = list(batches)
        for batch in pending:
            self._waiting.setdefault(batch.partition, deque()).append(batch)
        while pending:
            request, pending = self._cut(pending)
            if not self._send(request):
                self._mend()  # which sends all that waits, ours included
                return

    def flush(self) -> None:
        """Wait until every batch is acknowledged, or raise why one cannot be."""
        for leader in list(self._in_flight):
            while self._in_flight.get(leader):
                if not self._take(leader):
                    self._mend()
                    return

    # ---------------------------------------------------------------- the usual way

    def _cut(self, batches: list[Batch]) -> tuple[list[Batch], list[Batch]]:
        """The first request's worth of batches: one for each partition, within the size."""
        request: list[Batch] = []
        rest: list[Batch] = []
        size, seen = 0, set()
        for batch in batches:
            size += len(batch.data)
            if batch.partition in seen or (request and size > self._config.request_bytes_max):
                rest.append(batch)
                seen.add(batch.partition)  # what follows must not overtake it
            else:
                request.append(batch)
                seen.add(batch.partition)
        return request, rest

    def _send(self, batches: list[Batch]) -> bool:
        """Post the batches to their leaders; False when something has to be mended first."""
        missing = {b.partition[0] for b in batches if b.partition not in self._leaders}
        try:
            self._leaders |= find_leaders(self._client, missing) if missing else {}
        except ConnectionFailedError:
            return False
        by_partition = {batch.partition: batch for batch in batches}
        for leader, partitions in group_by_leader(by_partition, self._leaders).items():
            if leader == NO_LEADER:
                return False
            queue = self._in_flight.setdefault(leader, deque())
            theirs = [by_partition[partition] for partition in partitions]
            while len(queue) >= self._config.in_flight_max or (
                queue and any(map(self._follows_first, theirs))
            ):
                if not self._take(leader):
                    return False
            try:
                connection = self._client.node(leader)
                request, version = request_for(connection, theirs, self._config)
                connection.post(request, version=version)
            except KafkaError:
                return False
            queue.append(_Request(connection, theirs))
        return True

    def _follows_first(self, batch: Batch) -> bool:
        """Whether its producer's first batch in the partition is not acknowledged yet.

        A log that knows nothing of a producer takes any sequence: were the first batch refused, the
        one behind it would be taken, and the first never again.
        """
        first = self._waiting[batch.partition][0]
        return first is not batch and read_header(first.data).base_sequence == 0

    def _take(self, leader: int) -> bool:
        """Wait for the oldest answer of a leader; False unless it acknowledges everything."""
        request = self._in_flight[leader].popleft()
        try:
            answer = request.connection.take(
                ProduceResponse, timeout_ms=self._config.answer_timeout_ms
            )
        except ConnectionFailedError:
            return False
        return self._settle(request, answer)

    def _settle(self, request: _Request, answer: ProduceResponse) -> bool:
        outcomes = read_answer(answer, request.batches)
        well = True
        for batch in request.batches:
            error = outcomes[batch.partition]
            if error is None:
                self._acknowledge(batch)
            else:
                well = False
                self._raise_if_final(batch, error)
        return well

    def _acknowledge(self, batch: Batch) -> None:
        waiting = self._waiting[batch.partition]
        waiting.remove(batch)
        self.records_acknowledged += batch.count
        if not waiting:
            del self._waiting[batch.partition]

    def _raise_if_final(self, batch: Batch, error: KafkaError) -> None:
        """Errors that sending again may mend are left for `_mend`."""
        if error.code in RETRIABLE:
            return
        first = self._waiting[batch.partition][0] is batch
        if error.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not first:
            return  # the one before it was refused
        if error.code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            return  # it will be cut in two
        raise error

    # ---------------------------------------------------------------- when something broke

    def _mend(self) -> None:
        """Collect the answers that still come, then send again what was not acknowledged."""
        for queue in self._in_flight.values():
            while queue:
                request = queue.popleft()
                try:
                    answer = request.connection.take(
                        ProduceResponse, timeout_ms=self._config.answer_timeout_ms
                    )
                except ConnectionFailedError:
                    continue
                self._settle(request, answer)
        self._in_flight.clear()
        self.records_acknowledged += resend(self._client, self._waiting, self._config)
        self._leaders.clear()
