"""The consumer instances of this proxy: made, found, and closed when nobody uses them."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException

from headrace.rest.config import RestConfig
from headrace.rest.errors import (
    RestError,
    instance_exists,
    instance_not_found,
    invalid_consumer_config,
)
from headrace.rest.instance import ConsumerInstance, InstanceConfig
from headrace.rest.schemas import SchemaManager

_FORMATS = ("binary", "json", "avro", "jsonschema", "protobuf")
_RESETS = ("earliest", "latest", "none", "smallest", "largest")
_NAME_MAX = 255
_SWEEP_SECONDS = 1.0


class ConsumerInstances:
    """By group and instance id."""

    def __init__(
        self, config: RestConfig, schemas: SchemaManager, threads: ThreadPoolExecutor
    ) -> None:
        self._config = config
        self._schemas = schemas
        self._threads = threads
        self._instances: dict[tuple[str, str], ConsumerInstance] = {}
        self._sweeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._sweeper = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        instances, self._instances = list(self._instances.values()), {}
        await asyncio.gather(*(instance.close() for instance in instances))

    def has(self, group: str, instance: str) -> bool:
        return (group, instance) in self._instances

    def find(self, group: str, instance: str) -> ConsumerInstance:
        found = self._instances.get((group, instance))
        if found is None:
            raise instance_not_found()
        found.used_at = time.monotonic()
        return found

    async def create(self, group: str, body: dict[str, Any]) -> str:
        """A new consumer in the group; it joins with its subscription."""
        instance_config = read_instance_config(body)
        wanted = body.get("name", body.get("id"))
        name = wanted or "-".join(
            part for part in ("rest-consumer", self._config.id, str(uuid4())) if part
        )
        if not isinstance(name, str) or len(name) > _NAME_MAX or "/" in name:
            raise invalid_consumer_config("name must be a text without slashes.")
        key = (group, name)
        if key in self._instances:
            raise instance_exists()
        if len(self._instances) >= self._config.instances_max:
            raise RestError(
                503, 50301, f"The proxy has {len(self._instances)} consumer instances already."
            )
        consumer = self._consumer(group, name, instance_config)
        self._instances[key] = ConsumerInstance(
            consumer, self._config, instance_config, self._schemas, self._threads
        )
        return name

    async def delete(self, group: str, instance: str) -> None:
        found = self._instances.pop((group, instance), None)
        if found is None:
            raise instance_not_found()
        await found.close()

    def _consumer(self, group: str, name: str, config: InstanceConfig) -> Consumer:
        settings = self._config.client_settings("consumer")
        settings |= {
            "group.id": group,
            "client.id": name,
            "enable.auto.commit": "false",
            "enable.partition.eof": "false",
        }
        if config.auto_offset_reset is not None:
            # What librdkafka calls `error`, Kafka calls `none`.
            reset = config.auto_offset_reset
            settings["auto.offset.reset"] = "error" if reset == "none" else reset
        try:
            return Consumer(settings)
        except (KafkaException, ValueError, TypeError) as error:
            raise invalid_consumer_config(str(error)) from error

    async def _sweep(self) -> None:
        """Close instances that nobody used for `consumer.instance.timeout.ms`."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            limit = time.monotonic() - self._config.instance_timeout_ms / 1000
            idle = [
                key
                for key, instance in self._instances.items()
                if instance.used_at < limit and not instance.is_busy
            ]
            for key in idle:
                await self._instances.pop(key).close()


def read_instance_config(body: dict[str, Any]) -> InstanceConfig:
    embedded = body.get("format", "binary")
    if not isinstance(embedded, str) or embedded.lower() not in _FORMATS:
        raise invalid_consumer_config(f"Invalid format type: {embedded}")
    reset = body.get("auto.offset.reset")
    if reset is not None and reset not in _RESETS:
        raise invalid_consumer_config(
            f"Invalid value {reset} for configuration auto.offset.reset: it is earliest, latest"
            " or none."
        )
    commit = body.get("auto.commit.enable", "true")
    if str(commit).lower() not in ("true", "false"):
        raise invalid_consumer_config(f"auto.commit.enable must be true or false, not {commit}.")
    return InstanceConfig(
        embedded.lower(),
        reset,
        str(commit).lower() == "true",
        _number(body, "fetch.min.bytes"),
        _number(body, "consumer.request.timeout.ms"),
    )


def _number(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise invalid_consumer_config(f"{name} must be a whole number, not {value}.") from None
    if not -1 <= number < 1 << 31:
        raise invalid_consumer_config(f"{name} must be between -1 and {(1 << 31) - 1}.")
    return number
