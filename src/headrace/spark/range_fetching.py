"""Fetch answers for a range of offsets, one ahead: leaders found, failures mended or told.

While an answer is decoded the next one is on its way; what the cluster does meanwhile (a leader
that moves, a broker that restarts) costs time and nothing else.
"""

from __future__ import annotations

import time

from headrace.base.errors import RETRIABLE, ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import ConnectionFailedError, error_for_code
from headrace.client.fetch_request import FetchConfig, post_fetch
from headrace.client.leaders import NO_LEADER, find_leaders
from headrace.protocol.messages.fetch import FetchResponse, PartitionData
from headrace.records.batch import find_next_offset
from headrace.spark.errors import PipelineError
from headrace.spark.options import ReadSettings
from headrace.spark.planning import OffsetRange

#: A topic that was made a moment ago may not be known everywhere.
_MENDED = RETRIABLE | {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


class RangeFetcher:
    """Asks the leader of one partition; to be closed, since an answer may still be on its way."""

    def __init__(self, client: KafkaClient, work: OffsetRange, settings: ReadSettings) -> None:
        self._client = client
        self._work = work
        self._config = FetchConfig(
            max_bytes=settings.fetch_bytes,
            partition_max_bytes=settings.fetch_bytes,
            read_committed=settings.read_committed,
        )
        self._leader: int | None = None
        self._asked: tuple[int, BlockingConnection] | None = None
        self._patience = _Patience(settings.poll_timeout_ms, client.config.retry_backoff_ms)

    def fetch(self, position: int) -> PartitionData:
        """Data from `position` on, and ask for what follows it.

        Raises KafkaError(OFFSET_OUT_OF_RANGE), or PipelineError once patience is at an end.
        """
        while True:
            try:
                data = self._attempt(position)
            except ConnectionFailedError as error:
                self._asked = None
                self._leader = None
                self._client.close()
                self._patience.wait(f"Offset {position} of {self._name}", error)
                continue
            except KafkaError as error:
                if error.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise
                if error.code not in _MENDED:
                    raise PipelineError(f"{self._name}: {error.message}") from None
                self._leader = None
                self._patience.wait(f"Offset {position} of {self._name}", error)
                continue
            self._patience.begin_anew()
            return data

    def close(self) -> None:
        if self._asked is not None:
            # The answer that nobody waits for would be taken for the next one's.
            self._asked = None
            self._client.close()

    def _attempt(self, position: int) -> PartitionData:
        asked, self._asked = self._asked, None
        if asked is not None and asked[0] == position:
            connection = asked[1]
        else:
            if asked is not None:
                self._client.close()  # or its answer would be taken for the next one's
            connection = self._ask(position)
        answer = connection.take(FetchResponse)
        if answer.error_code:
            raise error_for_code(answer.error_code)
        data = answer.responses[0].partitions[0]
        if data.error_code:
            raise error_for_code(data.error_code)
        following = find_next_offset(data.records or b"")
        if following is None:
            if data.records:
                return data  # not a batch of today's format: decoding says what it is
            # The plan saw a record here, so it can only be late, or gone.
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no data is there.")
        if position < following < self._work.end:
            self._asked = (following, self._ask(following))
        return data

    def _ask(self, position: int) -> BlockingConnection:
        work = self._work
        if self._leader is None:
            leaders = find_leaders(self._client, [work.topic])
            leader = leaders.get((work.topic, work.partition))
            if leader is None:
                raise error_for_code(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if leader == NO_LEADER:
                raise error_for_code(ErrorCode.LEADER_NOT_AVAILABLE)
            self._leader = leader
        connection = self._client.node(self._leader)
        post_fetch(connection, {(work.topic, work.partition): position}, self._config)
        return connection

    @property
    def _name(self) -> str:
        return f"{self._work.topic}-{self._work.partition}"


class _Patience:
    """How long a range may stand still: back-off between tries, and an end to them."""

    def __init__(self, limit_ms: int, backoff_ms: int) -> None:
        self._limit_ms = limit_ms
        self._first_ms = backoff_ms
        self.begin_anew()

    def begin_anew(self) -> None:
        self._deadline = time.monotonic() + self._limit_ms / 1000
        self._backoff_ms = self._first_ms

    def wait(self, what: str, error: KafkaError) -> None:
        if time.monotonic() + self._backoff_ms / 1000 >= self._deadline:
            raise PipelineError(
                f"{what} could not be read within {self._limit_ms} ms: {error.message}"
            )
        time.sleep(self._backoff_ms / 1000)
        self._backoff_ms = min(self._backoff_ms * 2, 1_000)
