"""What the handlers share: one of each for the whole proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from headrace.rest.config import RestConfig
from headrace.rest.errors import RestError, bad_request
from headrace.rest.forwarding import Peers
from headrace.rest.instances import ConsumerInstances
from headrace.rest.kafka_errors import from_kafka
from headrace.rest.producing import RecordSender
from headrace.rest.schemas import SchemaManager
from headrace.rest.topics import TopicPartitions

_BLOCKING_THREADS = 32

_T = TypeVar("_T")


class Services:
    """The composition root: plain constructor calls, from top to bottom."""

    def __init__(self, config: RestConfig) -> None:
        self.config = config
        self.admin = AdminClient(config.client_settings("admin"))
        self.sender = RecordSender(config.client_settings("producer"))
        self.topics = TopicPartitions(self.admin, config.client_timeout_s)
        self.schemas = SchemaManager(config.registry_settings())
        self.consumer_threads = ThreadPoolExecutor(
            config.consumer_threads, thread_name_prefix="consumer"
        )
        self.instances = ConsumerInstances(config, self.schemas, self.consumer_threads)
        self.peers = Peers(config)
        self._cluster_id: str | None = None

    async def start(self) -> None:
        # Requests that wait for a Kafka that is away must not keep the others from asking it.
        threads = ThreadPoolExecutor(_BLOCKING_THREADS, thread_name_prefix="blocking")
        asyncio.get_running_loop().set_default_executor(threads)
        self.instances.start()

    async def stop(self) -> None:
        await self.instances.stop()
        await self.peers.close()
        await asyncio.to_thread(self.sender.close, self.config.client_timeout_s)
        self.consumer_threads.shutdown(wait=False)
        self.schemas.close()

    async def blocking(self, call: Callable[..., _T], *args: Any) -> _T:
        """A call of Kafka's client that blocks, in a thread; its failures are the API's."""
        try:
            return await asyncio.to_thread(call, *args)
        except KafkaException as error:
            raise from_kafka(error) from error

    def ask(self, call: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        """An admin request; the client itself refuses names and numbers that cannot be right."""
        try:
            return call(*args, **settings)
        except (TypeError, ValueError) as error:
            raise bad_request(str(error)) from error

    async def answer(self, future: Any) -> Any:
        """What an admin request brought."""
        try:
            return await asyncio.wrap_future(future)
        except KafkaException as error:
            raise from_kafka(error) from error

    async def require_cluster(self, cluster_id: str) -> None:
        if cluster_id != await self.cluster_id():
            raise RestError(404, 404, f"Cluster {cluster_id} cannot be found.")

    async def cluster_id(self) -> str:
        """It never changes, so it is asked for once."""
        if self._cluster_id is None:
            timeout_s = self.config.client_timeout_s
            description = await self.answer(self.admin.describe_cluster(request_timeout=timeout_s))
            self._cluster_id = str(description.cluster_id)
        return self._cluster_id
