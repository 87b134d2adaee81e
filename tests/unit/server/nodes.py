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
from headrace.server.config import NodeConfig
from headrace.server.development import ensure_formatted
from headrace.server.node import Node
from tests.support.talk import client_of

T = TypeVar("T")
_NOTHING: Mapping[str, str] = {}


def formatted(directory: Path, settings: Mapping[str, str] = _NOTHING) -> NodeConfig:
    """The config of a node on free ports; its directories are formatted if they are new."""
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


def use(config: NodeConfig, work: Callable[[KafkaClient], T]) -> T:
    """Start a node, do some work with a client, stop the node."""

    async def story(node: Node) -> T:
        return await with_client(node, work)

    return run(config, story)


async def with_client(node: Node, work: Callable[[KafkaClient], T]) -> T:
    """Blocking work with a client of the node, while the loop goes on."""

    def connected() -> T:
        with client_of(node.bootstrap) as client:
            return work(client)

    return await asyncio.to_thread(connected)


async def page(node: Node, path: str) -> tuple[int, str]:
    """Status and body of a status page."""
    assert node.status is not None
    url = f"http://127.0.0.1:{node.status.port}{path}"

    def read() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return int(answer.status), str(answer.read(), "utf-8")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, str(error.read(), "utf-8")

    return await asyncio.to_thread(read)
