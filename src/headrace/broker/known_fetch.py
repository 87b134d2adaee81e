"""A Fetch request for one partition that a client repeats with the next offset."""

from __future__ import annotations

from struct import Struct
from typing import Final

from headrace.broker.context import RequestContext
from headrace.broker.fetch_again import FetchAgain, KnownFetchServices
from headrace.broker.fetch_sessions import FINAL_EPOCH, FetchSession
from headrace.broker.known_requests import KnownShape, pieces
from headrace.broker.parked import Parked, Reply
from headrace.protocol.messages.fetch import FetchRequest
from headrace.replication.partition import Partition

_EPOCH = Struct(">i")
_EPOCH_MARK = 0x6BF1_93A7
_OFFSET = Struct(">q")
_OFFSET_MARK = 0x71C5_E80D_B9A2_F346
#: Who waits longer is not known: a timer may outlive its connection.
WAIT_MAX_MS: Final = 5_000

#: Session epoch and offset.
_Differences = tuple[int, int]


class KnownFetch(KnownShape):
    """The next read of a partition of which everything but the offset is known."""

    __slots__ = ("_again", "_services", "_session")

    def __init__(
        self,
        services: KnownFetchServices,
        context: RequestContext,
        request: FetchRequest,
        start: bytes,
        session: FetchSession | None,
        siblings: dict[int, Partition],
    ) -> None:
        version = context.api_version
        asked = request.topics[0].partitions[0]
        request.session_epoch, asked.fetch_offset = _EPOCH_MARK, _OFFSET_MARK
        marks = _EPOCH.pack(_EPOCH_MARK), _OFFSET.pack(_OFFSET_MARK)
        super().__init__(version, start, pieces(request, version, *marks), "iq")
        self._services = services
        self._session = session
        self._again = FetchAgain(services, context, request, session, siblings)

    def check(self, frame: memoryview) -> _Differences | None:
        numbers = self.numbers(frame)
        again = self._again
        if numbers is None or again.is_waiting or not again.is_as_known():
            return None
        epoch, offset = numbers
        return (epoch, offset) if self._goes_on(epoch) else None

    def _goes_on(self, epoch: int) -> bool:
        """Whether the session goes on with this epoch, and is still this partition's alone."""
        session = self._session
        if session is None:
            return epoch == FINAL_EPOCH
        positions = session.positions
        return (
            session.epoch == epoch
            and self._services.sessions.get(session.session_id) is session
            and len(positions) == 1
            and self._again.position in positions.values()
        )

    def serve(self, checked: _Differences) -> Reply | Parked:
        epoch, offset = checked
        session, services = self._session, self._services
        if session is not None:
            services.sessions.go_on(session, services.clock.mono_ms())
        return self._again.begin(epoch, offset)
