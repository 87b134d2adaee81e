"""One node for all tests with real clients."""

from collections.abc import Iterator

import pytest

from headrace.testing import EmbeddedKafka
from tests.clients.aio import Aio
from tests.clients.client import Client
from tests.clients.confluent import Confluent
from tests.clients.kafka_python import KafkaPython

CLIENTS: tuple[type[Client], ...] = (Confluent, KafkaPython, Aio)


@pytest.fixture(scope="session")
def node() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as kafka:
        yield kafka


@pytest.fixture(params=CLIENTS, ids=lambda cls: cls.name)
def client(request: pytest.FixtureRequest, node: EmbeddedKafka) -> Client:
    """Each client in turn."""
    cls: type[Client] = request.param
    return cls(node.bootstrap_servers)


@pytest.fixture
def every_client(node: EmbeddedKafka) -> list[Client]:
    return [cls(node.bootstrap_servers) for cls in CLIENTS]
