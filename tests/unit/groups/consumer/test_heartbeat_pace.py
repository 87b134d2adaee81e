"""How soon members are asked for their next heartbeat."""

import statistics

import pytest

from headrace.groups.consumer.config import GroupTiming
from headrace.groups.consumer.heartbeat_pace import Crowd, next_heartbeat_ms
from headrace.groups.consumer.member import Member, MemberState
from headrace.groups.consumer.progress import Progressed
from headrace.groups.consumer.target_assignment import Target

TIMING = GroupTiming(
    session_timeout_ms=45_000, heartbeat_interval_ms=5_000, assignment_interval_ms=1_000
)
MADE_MS = 1_000_000


def progressed(
    state: MemberState = MemberState.STABLE, *, awaits_target: bool = False, member_id: str = "m"
) -> Progressed:
    member = Member(member_id).moved_to(3, state=state, assigned={}, pending_revocation={})
    return Progressed(member, Target(3, {}, MADE_MS), awaits_target)


def pace(
    after: Progressed,
    members: int,
    waited_ms: int,
    timing: GroupTiming = TIMING,
    *,
    waiting: int = 1,
) -> int:
    crowd = Crowd(members, waiting, silent_since_ms=None)
    return next_heartbeat_ms(after, timing, crowd, MADE_MS + waited_ms)


def pace_beside_a_silent_member(silent_ms: int, members: int) -> int:
    now_ms = MADE_MS + 1_000_000
    crowd = Crowd(members, 0, now_ms - silent_ms)
    return next_heartbeat_ms(progressed(), TIMING, crowd, now_ms)


@pytest.mark.parametrize("state", [MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS])
@pytest.mark.parametrize("waited_ms", [0, 1, 10_000_000])
def test_who_has_nothing_to_wait_for_keeps_the_interval(state: MemberState, waited_ms: int) -> None:
    assert pace(progressed(state), 3, waited_ms) == 5_000


@pytest.mark.parametrize(("waited_ms", "due_in_ms"), [(0, 1_000), (300, 700), (2_000, 50)])
def test_who_awaits_a_target_comes_when_it_is_due(waited_ms: int, due_in_ms: int) -> None:
    members = 3
    wait_ms = pace(progressed(awaits_target=True), members, waited_ms)
    assert due_in_ms <= wait_ms <= due_in_ms + members


def test_who_waits_for_partitions_asks_less_and_less_often() -> None:
    after = progressed(MemberState.UNRELEASED_PARTITIONS)
    now_ms = 0
    waits: list[int] = []
    while not waits or waits[-1] < 5_000:
        waits.append(pace(after, 3, now_ms))
        now_ms += waits[-1]
    assert waits == sorted(waits)
    assert waits[0] < 60
    assert len(waits) < 30  # as many as in two and a half minutes otherwise


def test_the_nearer_of_two_reasons_counts() -> None:
    waits_for_both = progressed(MemberState.UNRELEASED_PARTITIONS, awaits_target=True)
    assert pace(waits_for_both, 3, 0) < 60
    assert pace(waits_for_both, 3, 900) == pace(progressed(awaits_target=True), 3, 900)


@pytest.mark.parametrize("silent_ms", [0, 5_000, 40_000])
def test_a_session_that_does_not_end_soon_changes_nothing(silent_ms: int) -> None:
    assert pace_beside_a_silent_member(silent_ms, 3) == 5_000


@pytest.mark.parametrize(("silent_ms", "ends_in_ms"), [(41_000, 4_000), (44_000, 1_000)])
def test_members_come_when_the_session_of_a_silent_one_ends(
    silent_ms: int, ends_in_ms: int
) -> None:
    members = 3
    wait_ms = pace_beside_a_silent_member(silent_ms, members)
    assert ends_in_ms <= wait_ms <= ends_in_ms + members


def test_a_session_that_should_have_ended_already_is_asked_for_again_soon() -> None:
    assert 50 <= pace_beside_a_silent_member(45_001, 3) <= 53


def test_a_large_group_takes_turns_and_sends_no_more_than_a_thousand_a_second() -> None:
    members = 1_000
    turns = [
        pace(progressed(awaits_target=True, member_id=f"member-{index}"), members, 1_000)
        for index in range(members)
    ]
    busiest = max(sum(start <= turn < start + 100 for turn in turns) for start in range(1_100))
    assert max(turns) <= 50 + members
    assert busiest < 200


def test_many_that_wait_for_partitions_leave_those_who_give_them_up_a_word() -> None:
    waiting = 40
    turns = [
        pace(
            progressed(MemberState.UNRELEASED_PARTITIONS, member_id=f"member-{index}"),
            1_000,
            0,
            waiting=waiting,
        )
        for index in range(waiting)
    ]
    assert min(turns) >= 50
    assert max(turns) <= 50 + 4 * waiting
    assert statistics.mean(turns) > 100  # alone it would be 50


def test_one_that_waits_does_not_care_how_large_its_group_is() -> None:
    assert pace(progressed(MemberState.UNRELEASED_PARTITIONS), 1_000, 0) <= 54


def test_a_huge_group_mostly_keeps_to_the_interval() -> None:
    members = 100_000
    turns = [
        pace(progressed(awaits_target=True, member_id=f"member-{index}"), members, 1_000)
        for index in range(1_000)
    ]
    assert max(turns) == 5_000
    assert sum(turn == 5_000 for turn in turns) > 900


def test_an_interval_that_is_shorter_than_soon_stays() -> None:
    quick = TIMING._replace(heartbeat_interval_ms=20)
    assert pace(progressed(awaits_target=True), 3, 0, quick) == 20


def test_a_target_whose_time_nobody_kept_is_due_now_and_was_waited_for_long() -> None:
    unknown = Target(3, {}, 0)
    awaiting = progressed(awaits_target=True)._replace(target=unknown)
    waiting = progressed(MemberState.UNRELEASED_PARTITIONS)._replace(target=unknown)
    assert pace(awaiting, 3, 0) < 60
    assert pace(waiting, 3, 0) == 5_000
