"""The Raft machine with one voter."""

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.protocol import compiler
from headrace.protocol.embedded import LeaderChangeMessage
from headrace.raft.leader import LeaderState
from headrace.raft.machine import RaftMachine
from headrace.raft.messages import (
    AppendControlRecords,
    HighWatermarkAdvanced,
    LeadershipGained,
    LeadershipLost,
    LogAppended,
    LogFlushed,
    SaveElectionState,
    Started,
    StopRequested,
)
from headrace.raft.quorum_state import ElectionState
from headrace.raft.voters import Voter, VoterSet
from headrace.records.control import ControlType


def machine(epoch: int = 0, end_offset: int = 0, last_epoch: int = 0) -> RaftMachine:
    return RaftMachine(
        1,
        VoterSet.of([Voter(1)]),
        ElectionState(epoch=epoch),
        log_end_offset=end_offset,
        log_last_epoch=last_epoch,
    )


def test_a_single_voter_elects_itself_and_saves_that_before_it_writes() -> None:
    effects = machine().handle(Started())

    assert effects[0] == SaveElectionState(ElectionState(epoch=1, leader_id=1, voter_ids=(1,)))
    assert isinstance(effects[1], AppendControlRecords)
    assert effects[1].epoch == 1
    ((kind, value),) = effects[1].messages
    assert kind is ControlType.LEADER_CHANGE
    change = compiler.decode(LeaderChangeMessage, 0, value)
    assert change.leader_id == 1
    assert [voter.voter_id for voter in change.granting_voters] == [1]
    assert effects[2] == LeadershipGained(1)


def test_the_first_leader_of_a_dynamic_quorum_writes_the_voters_down() -> None:
    voters = VoterSet.of([Voter(1, b"D" * 16, (("CONTROLLER", "h", 9093),))])

    def opening(*, log_has_voters: bool) -> list[ControlType]:
        raft = RaftMachine(
            1,
            voters,
            ElectionState(),
            log_end_offset=0,
            log_last_epoch=0,
            kraft_version=1,
            log_has_voters=log_has_voters,
        )
        effect = raft.handle(Started())[1]
        assert isinstance(effect, AppendControlRecords)
        return [kind for kind, _ in effect.messages]

    assert opening(log_has_voters=True) == [ControlType.LEADER_CHANGE]
    assert opening(log_has_voters=False) == [
        ControlType.LEADER_CHANGE,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
    ]


def test_each_start_opens_a_new_epoch() -> None:
    assert machine(epoch=6).handle(Started())[2] == LeadershipGained(7)


def test_a_log_that_knows_a_newer_epoch_than_the_file_wins() -> None:
    assert machine(epoch=2, end_offset=10, last_epoch=9).handle(Started())[2] == (
        LeadershipGained(10)
    )


def test_nothing_of_an_earlier_epoch_commits_before_a_record_of_this_one() -> None:
    raft = machine(epoch=1, end_offset=10, last_epoch=1)
    raft.handle(Started())
    raft.handle(LogAppended(11))

    assert raft.handle(LogFlushed(10)) == []
    assert raft.high_watermark == -1
    assert raft.handle(LogFlushed(11)) == [HighWatermarkAdvanced(11)]


def test_the_high_watermark_follows_the_disk_not_the_log_end() -> None:
    raft = machine()
    raft.handle(Started())
    raft.handle(LogAppended(5))
    raft.handle(LogFlushed(3))
    raft.handle(LogAppended(9))

    assert raft.high_watermark == 3
    assert raft.handle(LogFlushed(3)) == []


def test_a_flush_beyond_the_log_end_is_a_broken_invariant() -> None:
    raft = machine()
    raft.handle(Started())
    raft.handle(LogAppended(5))
    with pytest.raises(InvariantBrokenError):
        raft.handle(LogFlushed(6))


def test_a_stop_ends_the_leadership_and_keeps_the_epoch() -> None:
    raft = machine()
    raft.handle(Started())

    assert raft.handle(StopRequested()) == [LeadershipLost(1)]
    assert raft.election.epoch == 1
    assert raft.handle(StopRequested()) == []


def test_a_node_that_does_not_vote_is_refused() -> None:
    with pytest.raises(ValueError, match="not among the voters"):
        RaftMachine(2, VoterSet.of([Voter(1)]), ElectionState(), log_end_offset=0, log_last_epoch=0)


def test_a_quorum_of_several_is_refused_in_one_sentence() -> None:
    voters = VoterSet.of([Voter(1), Voter(2), Voter(3)])
    with pytest.raises(ValueError, match="3 voters"):
        RaftMachine(1, voters, ElectionState(), log_end_offset=0, log_last_epoch=0)


def test_a_leader_of_three_commits_what_two_have() -> None:
    leader = LeaderState(1, 4, 10, VoterSet.of([Voter(1), Voter(2), Voter(3)]))

    assert not leader.record_flushed(1, 15)
    assert leader.record_flushed(3, 12)
    assert leader.high_watermark == 12
    assert leader.record_flushed(2, 20)
    assert leader.high_watermark == 15
