"""Pipelines on a real Spark: `make interop` runs everything below this directory."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.spark.worker_python import worker_python
from headrace.testing import EmbeddedKafka
from tests.support.apache_kafka import ApacheKafka
from tests.support.spark import require_spark
from tests.support.tools import require_java

HERE = Path(__file__).parent
#: Records with timestamps of long ago stay for as long as the tests take.
KEPT = {"log.retention.ms": "-1"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.interop)
            given = item.get_closest_marker("timeout")
            limit = 600 if given is None else given.args[0]
            # A signal ends the test that is too slow; a thread would end the whole run.
            item.add_marker(pytest.mark.timeout(limit, method="signal"), append=False)
            # PySpark leaves sockets and its JVM for the interpreter to clean up.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark for all tests, with its own Kafka connector beside ours."""
    jars = require_spark()
    from pyspark.sql import SparkSession

    warehouse = tmp_path_factory.mktemp("spark")
    os.environ.setdefault("PYSPARK_PYTHON", worker_python(warehouse))
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.metricsEnabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def node() -> Iterator[EmbeddedKafka]:
    """A Headrace node for the tests of a module."""
    with EmbeddedKafka(KEPT) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """One Apache Kafka node."""
    require_java()
    with ApacheKafka(tmp_path_factory.mktemp("apache") / "data", settings=KEPT) as kafka:
        yield kafka
