"""What goes into an append and what comes back."""

from enum import IntEnum
from typing import NamedTuple


class AppendOrigin(IntEnum):
    """Who writes, which decides how much is checked."""

    REPLICATION = 0  # a follower: the leader has checked everything
    COORDINATOR = 1  # group and transaction coordinators: epochs are checked, sequences are not
    CLIENT = 2  # a Produce request: everything is checked
    RAFT_LEADER = 3  # the metadata log


class AppendResult(NamedTuple):
    """Where the batches went; for a duplicate, where they had gone the first time."""

    base_offset: int
    last_offset: int
    append_time_ms: int  # -1 unless the topic uses LogAppendTime
    duplicate: bool
    #: `flush.messages` is reached: the reply has to wait for a flush.
    flush_needed: bool
