"""Exactly-once under kills of driver, executor and broker: fifty over all seeds.

`FAULT_SEEDS=7 make faults` runs one seed again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.spark_cluster import SparkCluster
from tests.support.spark_kill_rounds import SparkKillRounds

_ROUNDS = 5


@pytest.mark.timeout(900)
def test_kills_of_driver_executor_and_broker_lose_and_double_nothing(
    seed: int, tmp_path: Path
) -> None:
    with EmbeddedKafka() as node, SparkCluster(tmp_path) as cluster:
        rounds = SparkKillRounds(cluster, node, tmp_path, seed)
        rounds.run(_ROUNDS)
        rounds.check()
