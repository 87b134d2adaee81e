"""The `uniform` assignor for groups whose members read different topics.

Members keep what they had. Free partitions go to whoever has least among the readers of their
topic, scarce topics first; then, topic by topic, partitions move from the reader that has most to
the one that has least, until no move helps or it has gone on long enough.

Members with the same topics are treated as one class, so that ten thousand members that follow two
regular expressions cost ten thousand steps and not ten thousand for each topic.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from headrace.groups.consumer.assignors.spec import STEP, GroupSpec, Steps, Targets

#: A round halves the imbalance, more or less; Kafka stops here too.
_ROUNDS_MAX = 16
_NOBODY = -1


class _ReaderClass:
    """The members that read the same topics, the one with least partitions in front."""

    __slots__ = ("_heap", "_loads")

    def __init__(self, members: list[int], loads: list[int]) -> None:
        self._loads = loads
        self._heap = [(loads[member], member) for member in members]
        heapify(self._heap)

    def least(self) -> tuple[int, int]:
        """Load and index of the member that has least."""
        heap = self._heap
        while heap[0][0] != self._loads[heap[0][1]]:
            heappop(heap)  # an older entry of a member whose load has changed
        return heap[0]

    def changed(self, member: int) -> None:
        heappush(self._heap, (self._loads[member], member))


class _Mixed:
    """One assignment in the making; members are known by their index."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._loads = [0] * len(spec.members)
        self._owners = {
            topic_id: [_NOBODY] * count for topic_id, count in spec.partition_counts.items()
        }
        self._keep()
        by_topics: dict[frozenset[bytes], list[int]] = {}
        for index, member in enumerate(spec.members):
            by_topics.setdefault(member.topic_ids, []).append(index)
        self._class_of: list[_ReaderClass] = [None] * len(spec.members)  # type: ignore[list-item]
        self._readers: dict[bytes, list[_ReaderClass]] = {}
        self._reader_counts: dict[bytes, int] = {}
        for topic_ids, members in by_topics.items():
            reader_class = _ReaderClass(members, self._loads)
            for index in members:
                self._class_of[index] = reader_class
            for topic_id in topic_ids:
                self._readers.setdefault(topic_id, []).append(reader_class)
                count = self._reader_counts.get(topic_id, 0) + len(members)
                self._reader_counts[topic_id] = count
        # Topics with many partitions for few readers have least choice, so they come first.
        self._topics = sorted(self._readers, key=self._scarcity)

    def assign(self) -> Steps[Targets]:
        for topic_id in self._topics:
            yield from self._assign_free(topic_id)
        for _ in range(_ROUNDS_MAX):
            moves = 0
            for topic_id in self._topics:
                moves += yield from self._balance(topic_id)
            if not moves:
                break
        return (yield from self._targets())

    def _keep(self) -> None:
        for index, member in enumerate(self._spec.members):
            for topic_id, partitions in member.target.items():
                if topic_id not in member.topic_ids:
                    continue
                owners = self._owners[topic_id]
                for partition in partitions:
                    if partition < len(owners) and owners[partition] == _NOBODY:
                        owners[partition] = index
                        self._loads[index] += 1

    def _scarcity(self, topic_id: bytes) -> tuple[float, int, bytes]:
        readers = self._reader_counts[topic_id]
        return -self._spec.partition_counts[topic_id] / readers, readers, topic_id

    def _assign_free(self, topic_id: bytes) -> Steps[None]:
        owners = self._owners[topic_id]
        if _NOBODY not in owners:
            return
        heap = self._least_of_classes(topic_id)
        for partition, owner in enumerate(owners):
            if owner == _NOBODY:
                _, member = self._least(heap)
                owners[partition] = member
                self._load(member, 1)
            if partition % STEP == 0:
                yield

    def _balance(self, topic_id: bytes) -> Steps[int]:
        """Move partitions of a topic among its readers; the number of moves."""
        if self._reader_counts[topic_id] < 2:
            return 0
        owners = self._owners[topic_id]
        heap = self._least_of_classes(topic_id)
        least, _ = self._least(heap)
        most = max((self._loads[owner] for owner in owners), default=0)
        if most - least <= 1:
            return 0
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(owners):
            owned.setdefault(owner, []).append(partition)
        givers = [(-self._loads[owner], -owner) for owner in owned]
        heapify(givers)
        moves = 0
        while givers:
            load, giver = (-value for value in heappop(givers))
            if load != self._loads[giver] or not owned[giver]:
                continue  # an older entry, or nothing of this topic left to give
            least, taker = self._least(heap)
            if load - least <= 1:
                break
            partition = owned[giver].pop()
            owned.setdefault(taker, []).append(partition)
            owners[partition] = taker
            self._load(giver, -1)
            self._load(taker, 1)
            heappush(heap, self._class_of[giver].least())
            heappush(givers, (1 - load, -giver))
            heappush(givers, (-least - 1, -taker))
            moves += 1
            if moves % STEP == 0:
                yield
        return moves

    def _least_of_classes(self, topic_id: bytes) -> list[tuple[int, int]]:
        """A heap of load and index: of every class of readers the member that has least."""
        heap = [one.least() for one in self._readers[topic_id]]
        heapify(heap)
        return heap

    def _least(self, heap: list[tuple[int, int]]) -> tuple[int, int]:
        """The reader that has least; members whose load has risen since make place."""
        while True:
            known = heap[0]
            now = self._class_of[known[1]].least()
            if now == known:
                return now
            heappop(heap)
            heappush(heap, now)

    def _load(self, member: int, step: int) -> None:
        self._loads[member] += step
        self._class_of[member].changed(member)

    def _targets(self) -> Steps[Targets]:
        fresh: list[dict[bytes, set[int]]] = [{} for _ in self._spec.members]
        for topic_id, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                if owner != _NOBODY:
                    fresh[owner].setdefault(topic_id, set()).add(partition)
                if partition % STEP == 0:
                    yield
        targets: Targets = {}
        for member, mine in zip(self._spec.members, fresh, strict=True):
            targets[member.member_id] = {
                topic_id: frozenset(partitions) for topic_id, partitions in mine.items()
            }
        return targets


def assign_mixed(spec: GroupSpec) -> Steps[Targets]:
    return _Mixed(spec).assign()
