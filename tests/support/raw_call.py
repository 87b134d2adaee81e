"""Single requests to one node, with a version or the newest one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.schema import Request
from tests.support.node import Node


@contextmanager
def calls_to(node: Node) -> Iterator[Callable[[Request, int | None], Any]]:
    """A function that sends a request and returns its response, over one connection."""
    config = ClientConfig(bootstrap=(("127.0.0.1", node.port),))
    connection = BlockingConnection(config.bootstrap[0], config)

    def call(request: Request, version: int | None) -> Any:
        answer = message_classes(ApiKey(type(request).api_key))[1]
        return connection.call(request, answer, version=version)

    try:
        yield call
    finally:
        connection.close()
