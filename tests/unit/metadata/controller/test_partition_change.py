"""A partition's next state."""

from collections.abc import Sequence

from headrace.metadata import records as r
from headrace.metadata.controller.partition_change import Election, PartitionChange
from headrace.metadata.image import PartitionImage
from headrace.metadata.topics_delta import changed_partition

NOBODY: Sequence[int] = ()


def partition(
    replicas: Sequence[int] = (1, 2, 3),
    isr: Sequence[int] = (1, 2, 3),
    leader: int = 1,
    elr: Sequence[int] = (),
    last_known: Sequence[int] = (),
) -> PartitionImage:
    return PartitionImage(
        tuple(replicas),
        tuple(isr),
        leader,
        5,
        9,
        tuple(bytes([replica]) * 16 for replica in replicas),
        elr=tuple(elr),
        last_known_elr=tuple(last_known),
    )


def change(
    before: PartitionImage,
    *,
    alive: Sequence[int] = (1, 2, 3),
    min_isr: int = 2,
    elr: bool = True,
    election: Election = Election.ONLINE,
) -> PartitionChange:
    return PartitionChange(
        before,
        b"t" * 16,
        0,
        can_lead=lambda broker: broker in alive,
        min_isr=min_isr,
        elr_enabled=elr,
        default_directory=lambda broker: bytes(16),
        election=election,
    )


def after(building: PartitionChange, before: PartitionImage) -> PartitionImage:
    record = building.build()
    assert record is not None
    return changed_partition(before, record)


def test_nothing_to_do_gives_no_record() -> None:
    assert change(partition()).build() is None


def test_the_next_in_sync_replica_leads_when_the_leader_goes() -> None:
    before = partition()
    building = change(before, alive=(2, 3))
    building.isr = [2, 3]
    result = after(building, before)
    assert (result.leader, result.isr, result.leader_epoch, result.elr) == (2, (2, 3), 6, ())


def test_a_shrinking_isr_alone_keeps_the_leader_epoch() -> None:
    before = partition()
    building = change(before)
    building.isr = [1, 2]
    result = after(building, before)
    assert (result.leader_epoch, result.partition_epoch) == (5, 10)


def test_who_leaves_below_the_minimum_stays_eligible() -> None:
    before = partition(isr=(1, 2))
    building = change(before)
    building.isr = [1]
    assert after(building, before).elr == (2,)


def test_the_last_replica_leaves_an_eligible_self_and_its_name() -> None:
    before = partition(replicas=(1,), isr=(1,))
    building = change(before, alive=NOBODY, min_isr=1)
    building.isr = []
    record = building.build()
    assert record == r.PartitionChangeRecord(
        topic_id=b"t" * 16,
        partition_id=0,
        isr=[],
        leader=-1,
        eligible_leader_replicas=[1],
        last_known_elr=[1],
    )


def test_an_eligible_replica_leads_again_cleanly() -> None:
    before = partition(replicas=(1,), isr=(), leader=-1, elr=(1,), last_known=(1,))
    result = after(change(before, min_isr=1), before)
    assert (result.leader, result.isr, result.elr, result.last_known_elr) == (1, (1,), (), ())
    assert result.leader_recovery_state == 0


def test_after_a_crash_nobody_is_eligible_but_the_last_leader_is_known() -> None:
    before = partition(replicas=(1,), isr=(1,))
    building = change(before, alive=NOBODY, min_isr=1)
    building.isr = []
    building.unclean_replicas = (1,)
    result = after(building, before)
    assert (result.elr, result.last_known_elr, result.leader) == ((), (1,), -1)


def test_the_last_known_leader_leads_again_as_recovering() -> None:
    before = partition(replicas=(1, 2), isr=(), leader=-1, last_known=(2,))
    result = after(change(before, alive=(1, 2)), before)
    assert (result.leader, result.isr, result.leader_recovery_state) == (2, (2,), 1)
    assert result.last_known_elr == ()


def test_without_elr_the_last_in_sync_replica_stays_in_the_isr() -> None:
    before = partition(replicas=(1,), isr=(1,))
    building = change(before, alive=NOBODY, elr=False)
    building.isr = []
    result = after(building, before)
    assert (result.leader, result.isr, result.elr) == (-1, (1,), ())


def test_an_unclean_election_takes_anybody_and_marks_the_recovery() -> None:
    before = partition(isr=(1,))
    building = change(before, alive=(3,), election=Election.UNCLEAN, elr=False)
    building.isr = []
    result = after(building, before)
    assert (result.leader, result.isr, result.leader_recovery_state) == (3, (3,), 1)


def test_a_preferred_election_goes_back_to_the_first_replica() -> None:
    before = partition(leader=2)
    assert after(change(before, election=Election.PREFERRED), before).leader == 1
    assert change(before).build() is None


def test_a_preferred_replica_out_of_sync_does_not_lead() -> None:
    before = partition(isr=(2, 3), leader=2)
    assert change(before, election=Election.PREFERRED).build() is None


def test_a_reassignment_completes_when_the_new_replicas_are_in_sync() -> None:
    before = partition()._replace(
        replicas=(1, 2, 3), isr=(1, 2, 3), adding_replicas=(3,), removing_replicas=(1,)
    )
    result = after(change(before), before)
    assert result.replicas == (2, 3)
    assert result.isr == (2, 3)
    assert result.leader == 2
    assert (result.adding_replicas, result.removing_replicas) == ((), ())
    assert result.directories == (b"\x02" * 16, b"\x03" * 16)


def test_a_reassignment_waits_for_its_new_replicas() -> None:
    before = partition()._replace(isr=(1, 2), adding_replicas=(3,), removing_replicas=(1,))
    assert change(before).build() is None


def test_a_replica_that_moves_to_another_directory() -> None:
    before = partition()
    building = change(before)
    building.directories[2] = b"n" * 16
    result = after(building, before)
    assert result.directories[1] == b"n" * 16
    assert result.leader_epoch == 5
