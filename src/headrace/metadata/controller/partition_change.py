"""One partition's next state: who leads, who is in sync, who may lead later (KIP-966).

The steps and their order are Kafka's, since Kafka's controller reads the outcome: finish a
reassignment, work out the eligible replicas, elect, then write down what became different.
"""

from collections.abc import Callable, Sequence
from enum import Enum

from headrace.base.uuids import DIRECTORY_LOST, DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED
from headrace.metadata.image import (
    NO_LEADER,
    BrokerImage,
    LeaderRecoveryState,
    MetadataImage,
    PartitionImage,
)
from headrace.metadata.records import PartitionChangeRecord
from headrace.metadata.topics_delta import NO_LEADER_CHANGE


class Election(Enum):
    """How to choose a leader."""

    #: Any in-sync replica, the current leader if it still can.
    ONLINE = "online"
    #: The first replica if it is in sync.
    PREFERRED = "preferred"
    #: Also a replica that is not in sync: data may be lost.
    UNCLEAN = "unclean"


class PartitionChange:
    """A change in the making. Set the targets, then `build`."""

    def __init__(
        self,
        partition: PartitionImage,
        topic_id: bytes,
        index: int,
        *,
        can_lead: Callable[[int], bool],
        min_isr: int,
        elr_enabled: bool,
        default_directory: Callable[[int], bytes],
        election: Election = Election.ONLINE,
    ) -> None:
        self._before = partition
        self._topic_id = topic_id
        self._index = index
        self._can_lead = can_lead
        self._min_isr = min_isr
        self._elr_enabled = elr_enabled
        self._default_directory = default_directory
        self._election = election
        self.isr = list(partition.isr)
        self.replicas = list(partition.replicas)
        self.adding = list(partition.adding_replicas)
        self.removing = list(partition.removing_replicas)
        self.recovery_state = partition.leader_recovery_state
        #: Replicas that stopped uncleanly, so that not even the ELR may hold them.
        self.unclean_replicas: Sequence[int] = ()
        self.directories = dict(zip(partition.replicas, partition.directories, strict=False))
        self._elr = list(partition.elr)

    def build(self) -> PartitionChangeRecord | None:
        """The record of the change; None if nothing changes."""
        before = self._before
        record = PartitionChangeRecord(topic_id=self._topic_id, partition_id=self._index)
        self._complete_reassignment()
        self._choose_elr()
        self._elect(record)
        if record.leader == NO_LEADER_CHANGE and not set(before.replicas) <= set(self.replicas):
            # Without a replica of before, the leader epoch must grow: it fences the replica.
            record.leader = before.leader
        self._note_elr(record)
        isr_may_be_noted = bool(self.isr) or self._elr_enabled
        if record.isr is None and isr_may_be_noted and tuple(self.isr) != before.isr:
            record.isr = self.isr
        self._note_last_known_leader(record)
        self._note_assignment(record)
        if self.recovery_state != before.leader_recovery_state:
            record.leader_recovery_state = self.recovery_state
        return None if _is_empty(record) else record

    def _complete_reassignment(self) -> None:
        """Once all added replicas are in sync, the removed ones go."""
        if not self.adding and not self.removing:
            return
        isr = [replica for replica in self.isr if replica not in self.removing]
        replicas = [replica for replica in self.replicas if replica not in self.removing]
        if not isr or not set(self.adding) <= set(isr):
            return
        self.isr, self.replicas = isr, replicas
        self.adding, self.removing = [], []

    def _choose_elr(self) -> None:
        """Who left the ISR while it was too small had all that was acknowledged then."""
        if not self._elr_enabled:
            return
        if len(self.isr) >= self._min_isr:
            self._elr = []
            return
        candidates = dict.fromkeys([*self._elr, *self._before.isr])
        self._elr = [
            replica
            for replica in candidates
            if replica not in self.isr and replica not in self.unclean_replicas
        ]

    def _elect(self, record: PartitionChangeRecord) -> None:
        leader, unclean = self._choose_leader()
        if leader == self._before.leader:
            return
        if leader in self._elr:
            self.isr = [leader]
            self._elr.remove(leader)
        record.leader = leader
        if unclean:
            record.isr = [leader]
            if self._before.leader_recovery_state != LeaderRecoveryState.RECOVERING:
                record.leader_recovery_state = LeaderRecoveryState.RECOVERING

    def _choose_leader(self) -> tuple[int, bool]:
        """The leader, and whether it is one that may miss acknowledged records."""
        current = self._before.leader
        order = [current, *self.replicas]
        if self._election is Election.PREFERRED:
            order = [self.replicas[0], current, *self.replicas[1:]]
        for replica in order:
            if self._is_clean_choice(replica):
                return replica, False
        if self._last_known_leader_can_lead():
            return self._before.last_known_elr[0], True
        if self._election is Election.UNCLEAN:
            for replica in self.replicas:
                if self._can_lead(replica):
                    return replica, True
        return NO_LEADER, False

    def _is_clean_choice(self, replica: int) -> bool:
        in_sync = replica in self.isr or (not self.isr and replica in self._elr)
        return in_sync and self._can_lead(replica)

    def _last_known_leader_can_lead(self) -> bool:
        last = self._before.last_known_elr
        if not self._elr_enabled or self._elr or self.isr or len(last) != 1:
            return False
        return self._can_lead(last[0])

    def _note_elr(self, record: PartitionChangeRecord) -> None:
        if record.isr is not None or not self._elr_enabled:
            self._elr = []
        if tuple(self._elr) != self._before.elr:
            record.eligible_leader_replicas = self._elr

    def _note_last_known_leader(self, record: PartitionChangeRecord) -> None:
        if not self._elr_enabled:
            return
        if record.leader == NO_LEADER and not self._before.last_known_elr:
            record.last_known_elr = [self._before.leader]
        elif record.leader >= 0 and self._before.last_known_elr:
            record.last_known_elr = []

    def _note_assignment(self, record: PartitionChangeRecord) -> None:
        before = self._before
        if self.replicas:
            directories = [
                self.directories.get(replica) or self._default_directory(replica)
                for replica in self.replicas
            ]
            if tuple(directories) != before.directories:
                record.directories = directories
            if tuple(self.replicas) != before.replicas:
                record.replicas = self.replicas
        if tuple(self.removing) != before.removing_replicas:
            record.removing_replicas = self.removing
        if tuple(self.adding) != before.adding_replicas:
            record.adding_replicas = self.adding


def _is_empty(record: PartitionChangeRecord) -> bool:
    return record.leader == NO_LEADER_CHANGE and all(
        value is None or value == -1
        for value in (
            record.isr,
            record.eligible_leader_replicas,
            record.last_known_elr,
            record.replicas,
            record.removing_replicas,
            record.adding_replicas,
            record.leader_recovery_state,
            record.directories,
        )
    )


def default_directory(image: MetadataImage, broker_id: int) -> bytes:
    """Where a new replica goes: the broker's only directory, or one the broker will choose."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        return DIRECTORY_UNASSIGNED
    if not broker.directories:
        return DIRECTORY_MIGRATING
    return broker.directories[0] if len(broker.directories) == 1 else DIRECTORY_UNASSIGNED


def has_online_directory(broker: BrokerImage | None, directory: bytes) -> bool:
    """Whether a broker can serve what lies in a directory."""
    if broker is None or directory == DIRECTORY_LOST:
        return False
    if directory in (DIRECTORY_UNASSIGNED, DIRECTORY_MIGRATING) or not broker.directories:
        return True
    return directory in broker.directories
