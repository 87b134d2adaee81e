"""kill -9 on the driver, the executors and the broker of a running query, at moments of a seed."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from headrace.testing import EmbeddedKafka
from tests.support.committed import new_topic, produce, values_by_key
from tests.support.readiness import eventually
from tests.support.spark_cluster import Program, SparkCluster

_KEYS = 20
_PER_ROUND = 6_000
_PATIENCE_S = 240.0
_GROUP = "copies"
_VICTIMS = ("executor", "broker", "driver")


class SparkKillRounds:
    """A query that copies a topic exactly once on a cluster, while its parts die and come back."""

    def __init__(
        self, cluster: SparkCluster, node: EmbeddedKafka, directory: Path, seed: int
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._directory = directory
        self._chance = random.Random(seed)
        self._source = new_topic(node.bootstrap_servers, 3)
        self._target = new_topic(node.bootstrap_servers, 3)
        self._stop = directory / "stop"
        self._program: Program | None = None
        self._produced = 0
        self.kills: list[str] = []

    def run(self, rounds: int) -> None:
        """So many kills, each while the query is at work, and then all of it to the end."""
        self._ensure_driver()
        for number in range(rounds):
            self._produce()
            self._strike(_VICTIMS[number % 3] if number < 3 else self._chance.choice(_VICTIMS))
        self._produce()
        self._wait_for(self._produced)
        self._stop.touch()
        assert self._program is not None
        self._program.process.wait(_PATIENCE_S)

    def check(self) -> None:
        """Every number once, and those of each key in their order."""
        found = values_by_key(self._node.bootstrap_servers, self._target)
        expected: dict[bytes, list[int]] = {}
        for number in range(self._produced):
            expected.setdefault(b"%d" % (number % _KEYS), []).append(number)
        assert found == expected, f"after {self.kills}"

    def _produce(self) -> None:
        first, self._produced = self._produced, self._produced + _PER_ROUND
        produce(self._node.bootstrap_servers, self._source, range(first, self._produced), _KEYS)

    def _strike(self, victim: str) -> None:
        """Kill somebody at some moment after the query has begun with the round's records."""
        done = self._produced - _PER_ROUND
        self._wait_for(done + self._chance.randrange(1, _PER_ROUND // 2))
        time.sleep(self._chance.random() * 0.5)
        self.kills.append(victim)
        if victim == "broker":
            self._node.kill()
            time.sleep(self._chance.random())
            self._node.start()
        elif victim == "executor":
            self._cluster.kill_executor(self._chance)
        else:
            assert self._program is not None
            self._program.kill()
        self._ensure_driver()

    def _wait_for(self, records: int) -> None:
        """Until the query has committed so many records; one that ended is started again."""

        def is_so_far() -> bool:
            self._ensure_driver()
            committed: dict[Any, int] = self._node.committed(_GROUP)
            return sum(committed.values()) >= records

        eventually(is_so_far, timeout=_PATIENCE_S)

    def _ensure_driver(self) -> None:
        """What a supervisor does: a query may end with an error when its broker is away."""
        if self._program is not None and self._program.is_running:
            return
        self._program = self._cluster.submit(
            "copy",
            {
                "servers": self._node.bootstrap_servers,
                "source": self._source,
                "target": self._target,
                "group": _GROUP,
                "checkpoint": str(self._directory / "checkpoint"),
                "stop": str(self._stop),
            },
        )
