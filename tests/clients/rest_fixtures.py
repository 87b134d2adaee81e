"""Fixtures of the REST proxy's tests; a test module takes them by importing them."""

from collections.abc import Iterator

import pytest

from headrace.testing import EmbeddedKafka
from tests.clients.rest import Rest
from tests.support.rest_server import rest_server
from tests.support.small_registry import SmallRegistry, small_registry


@pytest.fixture(scope="module")
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found


@pytest.fixture(scope="module")
def rest(node: EmbeddedKafka, registry: SmallRegistry) -> Iterator[Rest]:
    settings = {
        "bootstrap.servers": node.bootstrap_servers,
        "schema.registry.url": registry.url,
        "headrace.rest.request.max.bytes": "1000000",
    }
    with rest_server(settings) as server:
        client = Rest(server.url)
        yield client
        client.close()
