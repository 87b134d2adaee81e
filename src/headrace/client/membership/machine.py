"""What both group protocols have in common, seen from a member: no socket, no clock, no thread.

Whoever drives a machine sends what `next_request` returns, one request at a time, and hands the
answer to `answered`. The application's side calls `polled` each time it comes by for records, does
what `pending` says about its partitions, and then calls `carried_out`; until then the group waits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.errors import error_for_code
from headrace.client.groups_offsets import Membership
from headrace.client.leaders import TopicPartition
from headrace.client.membership.config import MemberConfig
from headrace.protocol.schema import Request, Response

#: The driver looks for another coordinator, waits a moment, and sends again.
RETRIED_BY_DRIVER = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
#: While a member waits for its application there is nothing to wait for but a call.
_LOOK_MS = 1_000.0


@dataclass(frozen=True, slots=True)
class Change:
    """What the application has to do with its partitions, in this order."""

    revoked: frozenset[TopicPartition] = frozenset()
    added: frozenset[TopicPartition] = frozenset()
    #: The group has given them away already: nothing may be committed for them any more.
    is_lost: bool = False
    #: An assignment, after which the member reads on; otherwise the group is about to rebalance.
    is_assignment: bool = False


class MemberMachine(ABC):
    """One member; `pending` is what its application owes it."""

    def __init__(self, config: MemberConfig) -> None:
        self.config = config
        self.topics: Mapping[str, int] = {}
        self.owned: frozenset[TopicPartition] = frozenset()
        self.pending: Change | None = None
        #: Why the member cannot go on, for whoever polls next.
        self.failure: KafkaError | None = None
        self._polled_ms = 0.0
        self._beat_due_ms = 0.0
        self._is_late = False

    # ---------------------------------------------------------------- for the application

    @property
    @abstractmethod
    def membership(self) -> Membership:
        """As whom to commit."""

    @abstractmethod
    def subscribe(self, topics: Mapping[str, int]) -> None:
        """The topics to read, with their partition counts as they are now."""

    @abstractmethod
    def carried_out(self, change: Change) -> None:
        """The application has done this; ignored if `pending` is something else by now."""

    @abstractmethod
    def lost(self) -> None:
        """The group does not know this member any more, as a commit found out."""

    def polled(self, now_ms: float) -> None:
        """The application is alive (`max.poll.interval.ms`)."""
        self._polled_ms = now_ms
        self._is_late = False

    # ---------------------------------------------------------------- for the driver

    @abstractmethod
    def next_request(self, now_ms: float) -> Request | None:
        """What to send to the coordinator now, if anything."""

    @abstractmethod
    def answered(self, answer: Response, now_ms: float) -> None:
        """The answer to the last request; its error is not one of `RETRIED_BY_DRIVER`."""

    @abstractmethod
    def leave_request(self) -> Request | None:
        """What tells the group that the member is being closed."""

    def not_answered(self) -> None:  # noqa: B027 - most need not know
        """The last request got no answer; it may or may not have arrived."""

    def wait_ms(self, now_ms: float) -> float:
        """How long until there may be something to send, if nothing happens before."""
        late_ms = self._polled_ms + self.config.max_poll_interval_ms
        coming = [due_ms - now_ms for due_ms in (self._beat_due_ms, late_ms) if due_ms > now_ms]
        return min(coming, default=_LOOK_MS)

    def answer_timeout_ms(self, request: Request) -> int | None:
        """How long an answer may take where that is longer than usual."""
        return None

    # ---------------------------------------------------------------- for both protocols

    def _is_too_late(self, now_ms: float) -> bool:
        """Whether the application has not come by for too long, once each time it happens."""
        if self._is_late or now_ms < self._polled_ms + self.config.max_poll_interval_ms:
            return False
        self._is_late = True
        return True

    def _fail(self, code: int, message: str | None = None) -> None:
        self.failure = error_for_code(code, message)
