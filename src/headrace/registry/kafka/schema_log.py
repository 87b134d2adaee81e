"""The schemas topic as the rest of the registry sees it: on the event loop, caught up on demand."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.registry.core.records import Record
from headrace.registry.errors import schema_too_large, store_failed, timed_out
from headrace.registry.kafka.reading import Row, TopicReader
from headrace.registry.kafka.topic import ensure_topic
from headrace.registry.kafka.writing import TopicEnd, TopicWriter

logger = logging.getLogger(__name__)

_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The names are those of Confluent's settings."""

    topic: str = "_schemas"
    topic_replication_factor: int = 3
    #: How long a request may wait for the topic.
    timeout_ms: int = 500
    init_timeout_ms: int = 60_000


class SchemaLog:
    """`apply` gets every record once, in order, on the event loop."""

    def __init__(
        self, client: ClientConfig, config: LogConfig, apply: Callable[[Row], None]
    ) -> None:
        self._client_config = client
        self._config = config
        self._apply = apply
        self._loop = asyncio.get_running_loop()
        self._writes = ThreadPoolExecutor(1, "schemas-writer")
        self._asks = ThreadPoolExecutor(1, "schemas-end")
        self._reader = TopicReader(client, config.topic, self._delivered)
        self._writer = TopicWriter(client, config.topic, max(config.timeout_ms, 1_000))
        self._end = TopicEnd(client, config.topic)
        #: Everything before this offset is applied.
        self.position = -1
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._next_end: asyncio.Task[int] | None = None
        self._asking = asyncio.Lock()
        self.cluster_id: str | None = None

    async def start(self) -> None:
        """Make or check the topic, and read what is in it."""
        await self._loop.run_in_executor(self._asks, self._prepare)
        self._reader.start()
        await self.catch_up(self._config.init_timeout_ms)

    async def stop(self) -> None:
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        self._reader.stop()
        self._writes.shutdown(wait=True)
        self._asks.shutdown(wait=True)
        self._writer.close()
        self._end.close()

    async def catch_up(self, timeout_ms: int | None = None) -> None:
        """Return once everything is applied that was in the topic when this was called."""
        limit = self._timeout(timeout_ms)
        try:
            async with asyncio.timeout(limit):
                await self._applied(await self._ask_end())
        except TimeoutError:
            raise timed_out("The schemas topic was not read to its end in time") from None
        except KafkaError as error:
            raise store_failed(f"The schemas topic cannot be read: {error}") from error

    async def append(self, records: Sequence[Record]) -> None:
        """Append records together and return once they are applied."""
        try:
            after = await self._loop.run_in_executor(self._writes, self._writer.append, records)
        except KafkaError as error:
            if error.code in _TOO_LARGE:
                raise schema_too_large() from error
            if error.code == ErrorCode.REQUEST_TIMED_OUT:
                raise timed_out("The write to the schemas topic timed out") from error
            raise store_failed(f"The schemas topic cannot be written: {error}") from error
        try:
            async with asyncio.timeout(self._timeout(None)):
                await self._applied(after)
        except TimeoutError:
            raise timed_out("What was written was not read back in time") from None

    def _timeout(self, timeout_ms: int | None) -> float:
        # A broker that is away for a moment is worth waiting for, whatever the setting says.
        return max(timeout_ms or self._config.timeout_ms, 5_000) / 1000

    def _prepare(self) -> None:
        with KafkaClient(self._client_config) as client:
            ensure_topic(client, self._config.topic, self._config.topic_replication_factor)
            self.cluster_id = client.cluster().cluster_id

    async def _ask_end(self) -> int:
        """Where the topic ends now; those who ask while a question is out share the next one."""
        if self._next_end is None:
            self._next_end = self._loop.create_task(self._ask_end_once())
        return await asyncio.shield(self._next_end)

    async def _ask_end_once(self) -> int:
        async with self._asking:
            # Whoever comes from here on needs an answer that is younger than this question.
            self._next_end = None
            return await self._loop.run_in_executor(self._asks, self._end.offset)

    def _delivered(self, rows: list[Row], position: int) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone: so is everybody who waits
            self._loop.call_soon_threadsafe(self._take, rows, position)

    def _take(self, rows: list[Row], position: int) -> None:
        for row in rows:
            self._apply(row)
        self.position = position
        still = []
        for offset, future in self._waiting:
            if offset <= position:
                if not future.done():
                    future.set_result(None)
            elif not future.done():
                still.append((offset, future))
        self._waiting = still

    async def _applied(self, offset: int) -> None:
        if self.position >= offset >= 0:
            return
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((offset, future))
        await future
