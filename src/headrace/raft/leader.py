"""The leader's role: count what each voter has on its disk, and commit what a majority has."""

from headrace.base.checks import check
from headrace.raft.voters import VoterSet


class LeaderState:
    """One epoch of leadership."""

    def __init__(self, node_id: int, epoch: int, start_offset: int, voters: VoterSet) -> None:
        self.node_id = node_id
        self.epoch = epoch
        #: Where this epoch's first record, the leader change, lies.
        self.start_offset = start_offset
        self.high_watermark = -1
        self._voters = voters
        self._flushed = dict.fromkeys(voters.ids, -1)

    def flushed_to(self, voter_id: int) -> int:
        """The end of what a voter is known to have on its disk; -1 if unknown."""
        return self._flushed[voter_id]

    def record_flushed(self, voter_id: int, end_offset: int) -> bool:
        """Note how far a voter's disk has come; true if the high watermark moved."""
        check(
            voter_id != self.node_id or end_offset >= self._flushed[voter_id],
            f"the leader's own log went back from {self._flushed[voter_id]} to {end_offset}",
        )
        self._flushed[voter_id] = end_offset
        by_progress = sorted(self._flushed.values(), reverse=True)
        candidate = by_progress[self._voters.majority - 1]
        # A majority may hold records of earlier epochs and still be overruled; only a record of
        # the leader's own epoch commits what lies before it (Raft, section 5.4.2).
        if candidate <= self.start_offset or candidate <= self.high_watermark:
            return False
        self.high_watermark = candidate
        return True
