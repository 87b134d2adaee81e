"""kill -9, again and again, at moments drawn from a seed, while clients work."""

import random
import time

from headrace.log.checkpoints import CLEANER_CHECKPOINT, OffsetCheckpoint
from tests.support.load import Load
from tests.support.node import Node
from tests.support.readiness import eventually
from tests.support.topic_churn import TopicChurn
from tests.support.workload import create_topic

#: Small segments and a cleaner that never rests, so that kills meet rolls and swaps too.
SETTINGS = {
    "log.cleaner.backoff.ms": "20",
    "log.segment.delete.delay.ms": "100",
    "log.cleaner.dedupe.buffer.size": "2097152",
}
_SMALL = {"internal.segment.bytes": "20000", "index.interval.bytes": "500"}
_COMPACT = {**_SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
#: Without sequence numbers: order by one request at a time, and no retry that could double.
_ONE_AT_A_TIME: dict[str, object] = {
    "acks": "all",
    "max.in.flight.requests.per.connection": 1,
    "message.send.max.retries": 0,
}


class KillRounds:
    """A node under load that dies and comes back."""

    def __init__(self, node: Node, seed: int) -> None:
        self._node = node
        self._chance = random.Random(seed)
        create_topic(node, "idempotent", 3, _SMALL)
        create_topic(node, "one-at-a-time", 1, _SMALL)
        create_topic(node, "compacted", 1, _COMPACT)
        self.loads = [
            Load(node, "idempotent", partitions=3),
            Load(node, "compacted", keys=40),
            Load(node, "one-at-a-time", options=_ONE_AT_A_TIME),
        ]
        self.churn = TopicChurn(node)
        #: Segments of logs, and ends of the cleaner's rounds, as each kill left them.
        self._segments: set[str] = set()
        self._cleaned_up_to: set[int] = set()

    def run(self, rounds: int) -> None:
        for load in self.loads:
            load.start()
        self.churn.start()
        try:
            for _ in range(rounds):
                self._round()
        finally:
            self._stop_clients()

    def _round(self) -> None:
        chance = self._chance
        if chance.random() < 0.2:
            # Die while starting, too.
            self._node.kill()
            self._node.begin_start()
            time.sleep(chance.random() * 0.4)
        else:
            progress = self._acknowledged() + chance.randrange(1, 1500)
            eventually(lambda: self._acknowledged() >= progress)
            time.sleep(chance.random() * 0.03)
        self._node.kill()
        self._look_at_files()
        self._node.start()

    def _look_at_files(self) -> None:
        directory = self._node.directory
        for topic in ("idempotent-0", "compacted-0"):
            self._segments |= {f"{topic}/{path.name}" for path in directory.glob(f"{topic}/*.log")}
        cleaned = OffsetCheckpoint(str(directory), CLEANER_CHECKPOINT).read()
        self._cleaned_up_to.add(cleaned.get(("compacted", 0), 0))

    def _acknowledged(self) -> int:
        return sum(len(load.acknowledged) for load in self.loads)

    def _stop_clients(self) -> None:
        if not self._node.child.is_running:
            self._node.start()
        self.churn.stop()
        for load in self.loads:
            load.finish()

    def check(self) -> None:
        """After one more life everything that was promised is there."""
        # Or the kills met neither rolls nor swaps.
        for topic in ("idempotent-0", "compacted-0"):
            rolled = [name for name in self._segments if name.startswith(topic)]
            assert len(rolled) > 1, f"{topic}: {len(rolled)} segments in all rounds"
        assert max(self._cleaned_up_to) > 0, "nothing was compacted between the kills"
        self._node.kill()
        self._node.start()
        idempotent, compacted, one_at_a_time = self.loads
        idempotent.check_all_there_once_and_in_order()
        one_at_a_time.check_all_there_once_and_in_order(some_failed=True)
        records = compacted.check_latest_of_every_key()
        assert len(records) < len(compacted.acknowledged), "nothing was compacted"
        self.churn.check()
