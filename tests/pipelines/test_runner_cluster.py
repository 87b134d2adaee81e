"""The same file on a real cluster of two workers, with our command and with spark-submit."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.pipelines_command import PipelinesCommand, each_once
from tests.support.spark_cluster import SparkCluster


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.timeout(600)
def test_a_cluster_goes_on_where_another_way_to_start_left_off(
    cluster: SparkCluster, node: EmbeddedKafka, tmp_path: Path
) -> None:
    command = PipelinesCommand(node, tmp_path)
    command.environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    shared = ("--once", "--checkpoint-dir", str(tmp_path / "checkpoints"))
    node.create_topic("orders", partitions=2)
    try:
        command.produce(0, 100)
        output = command.headrace(
            *("pipelines", "run", "orders.py", "--master", cluster.url, *shared)
        )
        assert "copy finished: 100 rows in 1 batch, lag 0." in output
        command.produce(100, 50)
        submit = str(Path(sys.executable).with_name("spark-submit"))
        process = command.start_program(submit, "--master", cluster.url, "orders.py", *shared)
        output = command.end(process)
        assert "copy finished: 50 rows in 1 batch, lag 0." in output
        assert command.copied() == each_once(150)
        assert command.lag("copy") == command.lag("counts") == [0, 0]
        assert command.status("counts")["stateRows"] == 3
    finally:
        command.close()
