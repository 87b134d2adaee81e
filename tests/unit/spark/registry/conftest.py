"""A registry for the functions under test."""

from collections.abc import Iterator

import pytest

from headrace.spark.registry.clients import close_clients
from tests.support.small_registry import SmallRegistry, small_registry


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found
        close_clients()
