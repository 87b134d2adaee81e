"""Where the replicas of new partitions go: striped over racks and brokers, as in Kafka.

Each partition starts one rack further than the one before, and inside a rack one broker further,
so leaders and followers spread evenly. Fenced brokers get replicas only when the others do not
suffice, and never the first one; brokers without an open directory (KIP-1066) get none.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.image import BrokerImage

T = TypeVar("T")
#: A number below the argument.
Chance = Callable[[int], int]


class _Ring:
    """Brokers in a circle; each partition goes round it once, from a start of its own."""

    def __init__(self, brokers: list[int], chance: Chance) -> None:
        self._brokers = brokers
        self._start = chance(len(brokers)) if brokers else 0
        self._taken = 0
        self._turn = 0

    def next(self, turn: int) -> int | None:
        if not self._brokers:
            return None
        if self._turn != turn:
            self._turn = turn
            self._taken = 0
            self._start = (self._start + 1) % len(self._brokers)
        if self._taken >= len(self._brokers):
            return None
        broker = self._brokers[(self._start + self._taken) % len(self._brokers)]
        self._taken += 1
        return broker

    def shuffle(self, chance: Chance) -> None:
        _shuffle(self._brokers, chance)


class _Rack:
    def __init__(self, brokers: list[BrokerImage], chance: Chance) -> None:
        self.active = _Ring(sorted(b.broker_id for b in brokers if not b.fenced), chance)
        self.fenced = _Ring(sorted(b.broker_id for b in brokers if b.fenced), chance)

    def next(self, turn: int) -> int | None:
        broker = self.active.next(turn)
        return self.fenced.next(turn) if broker is None else broker


class Placer:
    """Places partition after partition; make one for each request."""

    def __init__(self, brokers: Iterable[BrokerImage], chance: Chance) -> None:
        usable = [broker for broker in brokers if _is_usable(broker)]
        self._chance = chance
        self._broker_count = len(usable)
        self._unfenced_count = sum(not broker.fenced for broker in usable)
        by_rack: dict[str | None, list[BrokerImage]] = {}
        for broker in usable:
            by_rack.setdefault(broker.rack, []).append(broker)
        # Brokers without a rack come first, then racks by name.
        names = sorted(by_rack, key=lambda name: (name is not None, name or ""))
        self._racks = [_Rack(by_rack[name], chance) for name in names]
        self._start = chance(len(self._racks)) if self._racks else 0
        self._turn = 0

    def place(self, partitions: int, replication_factor: int) -> list[list[int]]:
        """The replicas of each new partition, the preferred leader first."""
        self._check(replication_factor)
        return [self._place_one(replication_factor) for _ in range(partitions)]

    def _check(self, replication_factor: int) -> None:
        problem = ""
        if replication_factor <= 0:
            problem = (
                f"Invalid replication factor {replication_factor}: the replication factor must be"
                " positive."
            )
        elif self._unfenced_count == 0:
            problem = (
                "All brokers are currently fenced, or have all their log directories cordoned."
            )
        elif replication_factor > self._broker_count:
            problem = (
                f"The target replication factor of {replication_factor} cannot be reached because"
                f" only {self._broker_count} broker(s) are registered or some brokers"
                " have all their log directories cordoned."
            )
        if problem:
            raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, problem)

    def _place_one(self, replication_factor: int) -> list[int]:
        if self._turn > 0 and self._turn % self._unfenced_count == 0 and self._unfenced_count > 1:
            # All starts have been used once: a new order keeps the same pairs from meeting again.
            _shuffle(self._racks, self._chance)
            for rack in self._racks:
                rack.active.shuffle(self._chance)
                rack.fenced.shuffle(self._chance)
        if self._start >= len(self._racks):
            self._start = 0
        count = len(self._racks)
        first = self._start
        while (leader := self._racks[first].active.next(self._turn)) is None:
            first = (first + 1) % count
        replicas = [leader]
        index = self._start
        skipped = first
        while len(replicas) < replication_factor:
            # The leader's rack has given one already: pass it over once.
            if index == skipped:
                skipped = -1
            elif (broker := self._racks[index].next(self._turn)) is not None:
                replicas.append(broker)
            index = (index + 1) % count
        self._turn += 1
        self._start += 1
        return replicas


def is_cordoned_off(broker: BrokerImage) -> bool:
    """Whether none of its directories takes new partitions (`cordoned.log.dirs`)."""
    cordoned = broker.cordoned_directories or ()
    # One that has not registered its directories may have room.
    return bool(broker.directories) and set(broker.directories) <= set(cordoned)


def _is_usable(broker: BrokerImage) -> bool:
    return not broker.in_controlled_shutdown and not is_cordoned_off(broker)


def _shuffle(items: list[T], chance: Chance) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = chance(last + 1)
        items[last], items[other] = items[other], items[last]
