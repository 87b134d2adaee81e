"""kill -9 in the middle of commits and transactions, again and again."""

import random
import time

from tests.support import committing_member, transformer
from tests.support.committed import group_offsets
from tests.support.committing_member import CommittingMember
from tests.support.load import Load
from tests.support.node import Node
from tests.support.reading import read_topics
from tests.support.small_coordinators import SMALL_COORDINATORS
from tests.support.stages import Stages
from tests.support.transformer import Transformer
from tests.support.workload import create_topic

SETTINGS = SMALL_COORDINATORS
_PARTITIONS = 3
_READERS, _TRANSFORMERS = "readers", "transformers"


class GroupKillRounds:
    """A node that dies and comes back under a committing group and a transactional one."""

    def __init__(self, node: Node, seed: int) -> None:
        self._node = node
        self._chance = random.Random(seed)
        create_topic(node, "given", _PARTITIONS)
        create_topic(node, "transformed", _PARTITIONS)
        # Slow enough for the others to have their share of the machine.
        self.load = Load(node, "given", partitions=_PARTITIONS, ahead_max=20)
        self.member = CommittingMember(node, _READERS, "given")
        self.transformer = Transformer(node, _TRANSFORMERS, "given", "transformed")
        self._stages = [
            (self.member.stages, committing_member.COMMIT),
            (self.transformer.stages, transformer.PRODUCE),
            (self.transformer.stages, transformer.SEND_OFFSETS),
            (self.transformer.stages, transformer.COMMIT),
        ]

    def run(self, rounds: int) -> None:
        clients = (self.load, self.member, self.transformer)
        for client in clients:
            client.start()
        try:
            for number in range(rounds):
                self._round(*self._stages[number % len(self._stages)])
        finally:
            if not self._node.child.is_running:
                self._node.start()
            for client in clients:
                client.finish()

    def _round(self, stages: Stages, stage: str) -> None:
        stages.wait_for(stage, self._chance.randint(1, 4))
        # A transaction takes some milliseconds.
        time.sleep(self._chance.random() * 0.01)
        promised = {
            _READERS: dict(self.member.acknowledged),
            _TRANSFORMERS: dict(self.transformer.acknowledged),
        }
        self._node.kill()
        self._node.start()
        for group, offsets in promised.items():
            found = self._committed(group)
            lost = [one for one, offset in offsets.items() if found[one] < offset]
            assert lost == [], f"{group}: acknowledged {offsets}, found {found}"

    def _committed(self, group: str) -> dict[int, int]:
        return group_offsets(self._node.bootstrap, group, "given", _PARTITIONS)

    def check(self) -> None:
        """After one more life every promise holds, and every transaction is there as a whole."""
        self._node.kill()
        self._node.start()
        self.load.check_all_there_once_and_in_order()
        committed = self._committed(_READERS)
        for partition, offset in self.member.acknowledged.items():
            assert offset <= committed[partition] <= self.member.attempted[partition]
        found = read_topics(self._node, dict.fromkeys(("given", "transformed"), _PARTITIONS))
        transformed = self._committed(_TRANSFORMERS)
        for partition in range(_PARTITIONS):
            given, copied = (
                [one.value for one in found[topic] if one.partition == partition]
                for topic in ("given", "transformed")
            )
            assert copied, f"nothing was copied from partition {partition}"
            assert copied == given[: len(copied)], f"partition {partition}: lost, twice or moved"
            assert transformed[partition] == len(copied), "records and offsets do not agree"
