"""A registry for the serializers under test."""

from collections.abc import Iterator

import pytest

from headrace.serde.registry_client import RegistryClient
from tests.support.small_registry import SmallRegistry, small_registry


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found


@pytest.fixture
def client(registry: SmallRegistry) -> Iterator[RegistryClient]:
    found = RegistryClient.from_settings({"schema.registry.url": registry.url})
    yield found
    found.close()
