"""Random schedules on two brokers, of which one knows what its clients repeat: no difference.

Whatever clients send and whatever changes meanwhile, every answer is the same bytes at the same
time, and so is what is left on the disk. A failure names its seed: `HEADRACE_SEEDS=<seed>` with
this file plays it again.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.broker.authorization import Operation
from headrace.log.append import AppendOrigin
from headrace.records.batch import read_header
from headrace.replication.partition import Leadership
from tests.support.seeds import block_name, playing, seed_blocks
from tests.unit.broker.batches import batch
from tests.unit.broker.random_clients import PARTITIONS, RandomClient
from tests.unit.broker.twins import Twin, Twins, count_served
from tests.unit.log.samples import marker

SEEDS = 100
_BLOCK = 20
_STEPS = 400
_SETTINGS = [
    ("cleanup.policy", "compact"),
    ("compression.type", "lz4"),
    ("headrace.produce.validation", "deep"),
    ("flush.messages", "1"),
    ("flush.messages", "3"),
    ("max.message.bytes", "90"),
    ("message.timestamp.type", "LogAppendTime"),
]


class Schedule:
    """One run."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.chance = random.Random(seed)
        self.twins = Twins(directory)
        for topic, partitions in PARTITIONS.items():
            self.twins.create_topic(topic, partitions)
        self.clients = [
            RandomClient(self.twins, self.chance, number)
            for number in range(self.chance.randint(3, 5))
        ]
        self.leader_epoch = 0
        self.open_transactions: set[int] = set()

    def run(self) -> int:
        """Play it; how many requests there were."""
        for _ in range(_STEPS):
            self.step()
            for client in self.clients:
                client.look()
        self.twins.advance(6_002)
        for client in self.clients:
            client.look()
            assert client.is_free
        self.twins.check()
        self.twins.close()
        return len(self.twins.pairs)

    def step(self) -> None:
        chance = self.chance
        draw = chance.random()
        free = [client for client in self.clients if client.is_free]
        if draw < 0.9 and free:
            chance.choice(free).act()
        elif draw < 0.95:
            # Even, since a wait may end a millisecond early.
            self.twins.advance(chance.choice((2, 2, 10, 98, 400)))
        elif draw < 0.96:
            chance.choice(self.clients).leave()
        elif draw < 0.97:
            self.mend()
        else:
            chance.choice(self.changes())()

    def changes(self) -> list[Callable[[], None]]:
        return [
            self.configure,
            self.configure,
            self.authorize,
            self.make_again,
            self.elect,
            self.transact,
            self.transact,
            self.delete_records,
        ]

    def mend(self) -> None:
        """Back to what clients hope for, or they would never repeat anything."""
        self.twins.authorizer.refused.clear()
        if not self.twins.knowing.partition("t").is_leader:
            self.lead(1)
        for topic in PARTITIONS:
            for name, _ in _SETTINGS:
                self.twins.configure(topic, name, None)

    def configure(self) -> None:
        name, value = self.chance.choice(_SETTINGS)
        topic = self.chance.choice(tuple(PARTITIONS))
        self.twins.configure(topic, name, value if self.chance.random() < 0.4 else None)

    def authorize(self) -> None:
        refused = self.twins.authorizer.refused
        if refused:
            refused.clear()
        else:
            operation = self.chance.choice((Operation.READ, Operation.WRITE))
            refused.add((operation, self.chance.choice(("t", "t", "other"))))

    def make_again(self) -> None:
        topic = self.chance.choice(tuple(PARTITIONS))
        self.twins.delete_topic(topic)
        self.twins.create_topic(topic, PARTITIONS[topic])
        self.open_transactions.clear()

    def elect(self) -> None:
        self.lead(self.chance.choice((1, 1, 2)))

    def lead(self, leader: int) -> None:
        self.leader_epoch += 1
        leadership = Leadership(leader, self.leader_epoch, (1, 2), (leader,), self.leader_epoch)
        self.twins.each(lambda broker: broker.partition("t").lead_or_follow(leadership))

    def transact(self) -> None:
        """A transaction on `t`-0 begins, or ends, past the handlers."""
        producer_id = self.chance.randrange(100, 103)
        if producer_id in self.open_transactions:
            self.open_transactions.remove(producer_id)
            data = marker(producer_id, 0, commit=self.chance.random() < 0.5)
            self._append(data, AppendOrigin.COORDINATOR)
        elif self.twins.knowing.partition("t").is_leader:
            self.open_transactions.add(producer_id)
            given = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
            self._append(batch(**given, transactional=True), AppendOrigin.COORDINATOR)

    def _append(self, data: bytearray, origin: AppendOrigin) -> None:
        def append(broker: Twin) -> None:
            copy = bytearray(data)
            now_ms = broker.clock.wall_ms()
            broker.partition("t").append(memoryview(copy), read_header(copy), now_ms, origin)

        self.twins.each(append)

    def delete_records(self) -> None:
        topic = self.chance.choice(tuple(PARTITIONS))
        high_watermark = self.twins.knowing.partition(topic).high_watermark
        low = self.twins.knowing.partition(topic).log.log_start_offset
        target = self.chance.randint(low, high_watermark)
        self.twins.each(lambda broker: broker.partition(topic).delete_records_before(target))


@pytest.mark.parametrize("seeds", seed_blocks(SEEDS, _BLOCK), ids=block_name)
def test_knowing_makes_no_difference(
    seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = count_served(monkeypatch)
    requests = 0
    for seed in seeds:
        with playing(seed):
            requests += Schedule(seed, tmp_path / str(seed)).run()
    known = served["produce"] + served["fetch"]
    if len(seeds) == _BLOCK:
        assert known > 0.3 * requests, f"{known} of {requests}: this proves nothing"
