"""Five random kills of driver, executor and broker; `make faults` has fifty."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.spark_cluster import SparkCluster
from tests.support.spark_kill_rounds import SparkKillRounds

pytestmark = pytest.mark.no_second_chance


def test_kills_of_driver_executor_and_broker_lose_and_double_nothing(
    node: EmbeddedKafka, tmp_path: Path
) -> None:
    with SparkCluster(tmp_path) as cluster:
        rounds = SparkKillRounds(cluster, node, tmp_path, seed=6)
        rounds.run(5)
        rounds.check()
