"""Nodes inside the test process, with clients in threads beside them."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.producing import ProducerConfig, RecordSender
from headrace.records.record import Record
from headrace.server.config import NodeConfig
from headrace.server.development import ensure_formatted
from headrace.server.node import Node

T = TypeVar("T")
_NOTHING: Mapping[str, str] = {}


def development_config(directory: Path, settings: Mapping[str, str] = _NOTHING) -> NodeConfig:
    config = NodeConfig.for_development(str(directory), 0, settings)
    ensure_formatted(config)
    return config


@asynccontextmanager
async def running(config: NodeConfig) -> AsyncIterator[Node]:
    node = Node(config)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


def run(config: NodeConfig, story: Callable[[Node], Awaitable[T]]) -> T:
    """Play a story on a running node."""

    async def play() -> T:
        async with running(config) as node:
            return await story(node)

    return asyncio.run(play())


async def with_client(node: Node, work: Callable[[KafkaClient], T]) -> T:
    """Blocking work with a client of the node, while the loop goes on."""

    def connected() -> T:
        config = ClientConfig.from_settings({"bootstrap.servers": node.bootstrap})
        with KafkaClient(config) as client:
            return work(client)

    return await asyncio.to_thread(connected)


def produce(client: KafkaClient, topic: str, values: list[bytes]) -> None:
    """Send records to partition 0 and wait for their acknowledgement."""
    failures: list[Exception] = []
    sender = RecordSender(
        client, topic, ProducerConfig(), lambda _, error: failures.append(error)
    )
    for value in values:
        sender.send(Record(0, 0, None, value, ()), partition=0)
    sender.flush()
    assert failures == []


async def page(node: Node, path: str) -> tuple[int, str]:
    """Status and body of a status page."""
    assert node.status is not None
    url = f"http://127.0.0.1:{node.status.port}{path}"

    def read() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(read)
