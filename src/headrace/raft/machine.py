"""Raft as a state machine: events in, effects out; no clock, no file, no socket.

The voter set of one is the case that exists: such a node elects itself when it starts, in a new
epoch each time, and commits whatever its own disk has.
"""

from dataclasses import replace

from headrace.base.checks import check
from headrace.raft.leader import LeaderState
from headrace.raft.messages import (
    AppendControlRecords,
    Effect,
    Event,
    HighWatermarkAdvanced,
    LeadershipGained,
    LeadershipLost,
    LogAppended,
    LogFlushed,
    SaveElectionState,
    Started,
    StopRequested,
)
from headrace.raft.quorum_state import NOBODY, ElectionState
from headrace.raft.voters import VoterSet, encode_kraft_version, encode_leader_change
from headrace.records.control import ControlType


class RaftMachine:
    """One node's part in the quorum."""

    def __init__(
        self,
        node_id: int,
        voters: VoterSet,
        election: ElectionState,
        *,
        log_end_offset: int,
        log_last_epoch: int,
        kraft_version: int = 0,
        log_has_voters: bool = True,
    ) -> None:
        if node_id not in voters.ids:
            raise ValueError(f"node {node_id} is not among the voters {list(voters.ids)}")
        if len(voters) > 1:
            raise ValueError(
                f"the quorum has {len(voters)} voters {list(voters.ids)}; a quorum of more than"
                " one voter is not supported yet"
            )
        self.node_id = node_id
        self.voters = voters
        self.kraft_version = kraft_version
        self.election = election
        self.leader: LeaderState | None = None
        self._log_end_offset = log_end_offset
        self._log_last_epoch = log_last_epoch
        #: False if the voters are known from `storage format` only.
        self._log_has_voters = log_has_voters

    @property
    def high_watermark(self) -> int:
        """The end of what is committed; -1 if not known yet."""
        return -1 if self.leader is None else self.leader.high_watermark

    def handle(self, event: Event) -> list[Effect]:
        """Take in one event; the shell carries out the effects in their order."""
        if isinstance(event, Started):
            return self._elect_itself()
        if isinstance(event, LogAppended):
            check(event.end_offset >= self._log_end_offset, "the leader's log became shorter")
            self._log_end_offset = event.end_offset
            return []
        if isinstance(event, LogFlushed):
            return self._note_flushed(event.end_offset)
        assert isinstance(event, StopRequested)  # noqa: S101 - the last kind of event
        return self._resign()

    def _elect_itself(self) -> list[Effect]:
        check(self.leader is None, "started twice")
        # The log may know a newer epoch than the file if the file was lost.
        epoch = max(self.election.epoch, self._log_last_epoch, 0) + 1
        self.election = ElectionState(
            epoch=epoch, leader_id=self.node_id, voter_ids=self.voters.ids
        )
        self.leader = LeaderState(self.node_id, epoch, self._log_end_offset, self.voters)
        # One vote is the majority, so the vote and its success go to the disk in one write.
        return [
            SaveElectionState(self.election),
            AppendControlRecords(epoch, self._opening_records()),
            LeadershipGained(epoch),
        ]

    def _opening_records(self) -> tuple[tuple[ControlType, bytes], ...]:
        change = encode_leader_change(self.node_id, self.voters, [self.node_id])
        opening = ((ControlType.LEADER_CHANGE, change),)
        if self.kraft_version == 0 or self._log_has_voters:
            return opening
        # The first leader of a dynamic quorum moves the voters from its own disk to the log.
        return (
            *opening,
            (ControlType.KRAFT_VERSION, encode_kraft_version(self.kraft_version)),
            (ControlType.KRAFT_VOTERS, self.voters.encode()),
        )

    def _note_flushed(self, end_offset: int) -> list[Effect]:
        leader = self.leader
        if leader is None:
            return []
        check(end_offset <= self._log_end_offset, "flushed more than was appended")
        if leader.record_flushed(self.node_id, end_offset):
            return [HighWatermarkAdvanced(leader.high_watermark)]
        return []

    def _resign(self) -> list[Effect]:
        leader, self.leader = self.leader, None
        if leader is None:
            return []
        # The file keeps the leader, as Kafka's does: only a newer epoch may replace it.
        self.election = replace(self.election, voted_id=NOBODY)
        return [LeadershipLost(leader.epoch)]
