"""Reading the schemas topic from its beginning and then for ever, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from headrace.base.errors import RETRIABLE, ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.errors import ConnectionFailedError, error_for_code
from headrace.client.fetch_request import FetchConfig, post_fetch
from headrace.client.fetched import read_fetched
from headrace.client.leaders import find_leaders
from headrace.client.offsets import EARLIEST, list_offsets, require_offsets
from headrace.protocol.messages.fetch import FetchResponse, PartitionData

logger = logging.getLogger(__name__)

_BYTES_MAX = 16 * 1024 * 1024
_FETCH = FetchConfig(max_bytes=_BYTES_MAX, partition_max_bytes=_BYTES_MAX, read_committed=True)
_RETRY_S = 0.2


class Row(NamedTuple):
    """A record as it was read."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


#: Gets the rows in order, and the offset up to which the topic is now known.
Deliver = Callable[[list[Row], int], None]


class TopicReader:
    """`deliver` is called from the thread, with no rows too: then only the position moved."""

    def __init__(self, config: ClientConfig, topic: str, deliver: Deliver) -> None:
        self._client = KafkaClient(config)
        self._partition = (topic, 0)
        self._deliver = deliver
        self._position = -1
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schemas-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._step()
        finally:
            self._client.close()

    def _step(self) -> None:
        try:
            if self._position < 0:
                self._begin()
            self._fetch()
        except KafkaError as error:
            if error.code not in RETRIABLE and not isinstance(error, ConnectionFailedError):
                logger.error("the schemas topic cannot be read: %s", error)
            self._client.close()
            self._stopping.wait(_RETRY_S)
        except Exception:  # the edge of the thread: a registry that reads no more is worse
            logger.exception("the schemas topic cannot be read")
            self._client.close()
            self._stopping.wait(_RETRY_S)

    def _begin(self) -> None:
        found = require_offsets(list_offsets(self._client, {self._partition: EARLIEST}))
        self._position = found[self._partition]
        self._deliver([], self._position)

    def _fetch(self) -> None:
        leader = find_leaders(self._client, [self._partition[0]]).get(self._partition, -1)
        if leader < 0:
            raise error_for_code(ErrorCode.LEADER_NOT_AVAILABLE)
        connection = self._client.node(leader)
        while not self._stopping.is_set():
            post_fetch(connection, {self._partition: self._position}, _FETCH)
            answer = connection.take(FetchResponse)
            if answer.error_code:
                raise error_for_code(answer.error_code)
            for data in (data for one in answer.responses for data in one.partitions):
                self._take(data)

    def _take(self, data: PartitionData) -> None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._begin()
            return
        if data.error_code:
            raise error_for_code(data.error_code)
        rows = []
        if data.records:
            for batch in read_fetched(self._partition, data, self._position, read_committed=True):
                if batch.error is not None:
                    raise batch.error
                rows += [Row(r.offset, r.timestamp, r.key, r.value) for r in batch.records]
                self._position = max(self._position, batch.next_offset)
        else:
            end = data.last_stable_offset if data.last_stable_offset >= 0 else data.high_watermark
            if end <= self._position:
                return
            # Compaction took everything from here to the end.
            self._position = end
        self._deliver(rows, self._position)


def now_ms() -> int:
    return time.time_ns() // 1_000_000
