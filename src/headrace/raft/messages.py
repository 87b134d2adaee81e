"""What goes into the Raft machine and what comes out of it.

Events are things that happened; effects are things the shell must do, in their order. Messages of
other voters and timers will be further events, requests to other voters further effects: the
shell's loop stays the same.
"""

from dataclasses import dataclass

from headrace.raft.quorum_state import ElectionState
from headrace.records.control import ControlType

# Events


@dataclass(frozen=True, slots=True)
class Started:
    """The node has read its state and its log, and comes up."""


@dataclass(frozen=True, slots=True)
class LogAppended:
    """The leader's log has grown to `end_offset`, not yet on the disk."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class LogFlushed:
    """All before `end_offset` is on the disk."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The node shuts down in order."""


Event = Started | LogAppended | LogFlushed | StopRequested

# Effects


@dataclass(frozen=True, slots=True)
class SaveElectionState:
    """Write and fsync the quorum-state file before any later effect."""

    state: ElectionState


@dataclass(frozen=True, slots=True)
class AppendControlRecords:
    """Append the control batch that opens an epoch; tell the machine with `LogAppended`."""

    epoch: int
    messages: tuple[tuple[ControlType, bytes], ...]


@dataclass(frozen=True, slots=True)
class LeadershipGained:
    """This node leads `epoch`: its controller may write once its log is applied."""

    epoch: int


@dataclass(frozen=True, slots=True)
class LeadershipLost:
    """This node no longer leads."""

    epoch: int


@dataclass(frozen=True, slots=True)
class HighWatermarkAdvanced:
    """All before `offset` is committed: it will be in every later leader's log."""

    offset: int


Effect = (
    SaveElectionState
    | AppendControlRecords
    | LeadershipGained
    | LeadershipLost
    | HighWatermarkAdvanced
)
