"""Fetch sessions (KIP-227): a client names its partitions once and then only what changes.

A session remembers for each partition where the client is and what it was last told, so that an
incremental response carries only partitions with news.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.protocol.messages.fetch import FetchRequest

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
NO_SESSION = 0
_EPOCH_MAX = 2**31 - 1
#: A session that was not used for so long may be pushed out by any new one, and one that was
#: made so long ago by a larger one.
_EVICTABLE_AFTER_MS = 120_000
#: All sessions together remember no more partitions than this; whoever comes later has none.
_POSITIONS_MAX = 500_000

#: A partition in a session: topic name (until version 12) or topic id, and partition index.
SessionKey = tuple[str | bytes, int]


class FetchPosition:
    """Where a client stands in one partition, and what it was told last."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "topic",
    )

    def __init__(self, topic: str | bytes, index: int) -> None:
        self.topic = topic
        self.index = index
        self.fetch_offset = 0
        self.max_bytes = 0
        self.current_leader_epoch = -1
        self.last_fetched_epoch = -1
        # Never told anything yet: the first response always has news.
        self.high_watermark = -1
        self.log_start_offset = -1


class FetchSession:
    """One client's session."""

    __slots__ = ("created_ms", "epoch", "last_used_ms", "positions", "session_id", "uses_ids")

    def __init__(self, session_id: int, uses_ids: bool, now_ms: float) -> None:
        self.session_id = session_id
        self.epoch = 1
        self.uses_ids = uses_ids
        self.positions: dict[SessionKey, FetchPosition] = {}
        self.created_ms = now_ms
        self.last_used_ms = now_ms

    def move_to_end(self, keys: Iterable[SessionKey]) -> None:
        """Partitions that got data go last, so that the next response starts with others."""
        for key in keys:
            self.positions[key] = self.positions.pop(key)


class FetchSessions:
    """The bounded cache of sessions on this node."""

    def __init__(self, slots: int, new_id: Callable[[], int]) -> None:
        self._slots = slots
        self._new_id = new_id
        self._sessions: dict[int, FetchSession] = {}
        #: Sessions that had to make room for others.
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        return sum(len(session.positions) for session in self._sessions.values())

    def open(
        self, request: FetchRequest, uses_ids: bool, now_ms: float
    ) -> tuple[FetchSession | None, list[FetchPosition]]:
        """Find or create what the request speaks of.

        Returns the session, if there is one after this request, and the partitions to read.
        """
        if request.session_epoch == FINAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            return None, list(_positions(request, uses_ids, {}).values())
        if request.session_epoch == INITIAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            positions = _positions(request, uses_ids, {})
            session = self._create(uses_ids, now_ms, len(positions)) if positions else None
            if session is not None:
                session.positions = positions
            return session, list(positions.values())
        session = self.resume(request.session_id, request.session_epoch, uses_ids, now_ms)
        size = len(session.positions)
        _positions(request, uses_ids, session.positions)
        _forget(request, uses_ids, session.positions)
        asked = list(session.positions.values())
        has_outgrown = len(asked) > size and self.partition_count > _POSITIONS_MAX
        if not asked or has_outgrown:
            # The client takes the missing session id as a hint to begin anew.
            del self._sessions[session.session_id]
            return None, asked
        return session, asked

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def resume(self, session_id: int, epoch: int, uses_ids: bool, now_ms: float) -> FetchSession:
        """The session that goes on with this epoch, or Kafka's error if it does not."""
        session = self._sessions.get(session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_ids != uses_ids:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        self.go_on(session, now_ms)
        return session

    def go_on(self, session: FetchSession, now_ms: float) -> None:
        """The next request of a session has come."""
        session.epoch = 1 if session.epoch >= _EPOCH_MAX else session.epoch + 1
        session.last_used_ms = now_ms
        # Kept in order of use, so that the oldest is the first.
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)

    def _create(self, uses_ids: bool, now_ms: float, size: int) -> FetchSession | None:
        """A new session, or None where the cache is full of better ones."""
        if len(self._sessions) >= self._slots:
            if not self._evict(now_ms, size):
                return None
            self.evictions += 1
        if self.partition_count + size > _POSITIONS_MAX:
            return None
        session_id = self._new_id()
        while session_id in self._sessions or session_id == NO_SESSION:
            session_id = self._new_id()
        session = FetchSession(session_id, uses_ids, now_ms)
        self._sessions[session_id] = session
        return session

    def _evict(self, now_ms: float, size: int) -> bool:
        """Make room: an idle session goes, or else one that is settled and saves less."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms > _EVICTABLE_AFTER_MS:
            del self._sessions[oldest.session_id]
            return True
        smaller = [
            session
            for session in self._sessions.values()
            if len(session.positions) < size and now_ms - session.created_ms > _EVICTABLE_AFTER_MS
        ]
        if not smaller:
            return False
        smallest = min(smaller, key=lambda session: len(session.positions))
        del self._sessions[smallest.session_id]
        return True


def _forget(
    request: FetchRequest, uses_ids: bool, positions: dict[SessionKey, FetchPosition]
) -> None:
    for forgotten in request.forgotten_topics_data:
        topic = forgotten.topic_id if uses_ids else forgotten.topic
        for index in forgotten.partitions:
            positions.pop((topic, index), None)


def _positions(
    request: FetchRequest, uses_ids: bool, positions: dict[SessionKey, FetchPosition]
) -> dict[SessionKey, FetchPosition]:
    """Bring `positions` up to date with the partitions that the request names."""
    for topic in request.topics:
        name: str | bytes = topic.topic_id if uses_ids else topic.topic
        for asked in topic.partitions:
            key = (name, asked.partition)
            position = positions.get(key)
            if position is None:
                position = positions[key] = FetchPosition(name, asked.partition)
            position.fetch_offset = asked.fetch_offset
            position.max_bytes = asked.partition_max_bytes
            position.current_leader_epoch = asked.current_leader_epoch
            position.last_fetched_epoch = asked.last_fetched_epoch
    return positions
