"""Everything below this directory needs programs beyond pip, and `make interop` runs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.java_client import JavaClient
from tests.support.tool_jvm import ToolJvm
from tests.support.tools import require_java

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """One Apache Kafka node for all tests that only need some Apache Kafka."""
    require_java()
    with ApacheKafka(tmp_path_factory.mktemp("apache") / "data") as node:
        yield node


@pytest.fixture(scope="session")
def tools() -> Iterator[ToolJvm]:
    """Apache Kafka's tools, in one JVM."""
    require_java()
    with ToolJvm() as jvm:
        yield jvm


@pytest.fixture(scope="session")
def java_client() -> Iterator[JavaClient]:
    """The Java producer and consumer, in one JVM."""
    require_java()
    with JavaClient() as client:
        yield client
