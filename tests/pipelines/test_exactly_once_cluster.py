"""Exactly-once on a real cluster of two workers: retries, copies of tasks, lost executors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.committed import committed_values, new_topic
from tests.support.spark_cluster import SparkCluster

pytestmark = pytest.mark.no_second_chance

_COUNT = 8_000
_SPECULATION = {
    "spark__speculation": "true",
    "spark__speculation__interval": "100ms",
    "spark__speculation__multiplier": "1.1",
    "spark__speculation__quantile": "0.25",
    "spark__speculation__minTaskRuntime": "100ms",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def write(
    cluster: SparkCluster, servers: str, flag: Path, fault: str, exactly_once: bool, **conf: str
) -> Counter[int]:
    topic = new_topic(servers, 3)
    arguments = {
        "servers": servers,
        "topic": topic,
        "count": _COUNT,
        "fault": fault,
        "flag": str(flag),
        "exactly_once": exactly_once,
    }
    cluster.submit("write", arguments, **conf).wait()
    assert flag.exists(), "the fault did not happen"
    return committed_values(servers, topic)


def test_an_executor_that_is_lost_under_a_batch_costs_and_doubles_nothing(
    cluster: SparkCluster, node: EmbeddedKafka, tmp_path: Path
) -> None:
    found = write(cluster, node.bootstrap_servers, tmp_path / "killed", "kill", exactly_once=True)
    assert found == Counter(range(_COUNT))


def test_a_copy_of_a_slow_task_does_not_write_its_rows_again(
    cluster: SparkCluster, node: EmbeddedKafka, tmp_path: Path
) -> None:
    servers = node.bootstrap_servers
    found = write(cluster, servers, tmp_path / "slow", "slow", exactly_once=True, **_SPECULATION)
    assert found == Counter(range(_COUNT))


def test_the_plain_sink_loses_nothing_when_an_executor_is_lost(
    cluster: SparkCluster, node: EmbeddedKafka, tmp_path: Path
) -> None:
    found = write(cluster, node.bootstrap_servers, tmp_path / "killed", "kill", exactly_once=False)
    assert set(found) == set(range(_COUNT))
