"""Which brokers are alive: the only state of the controller that is not in the log.

A new leader starts with fresh sessions, as in Kafka: brokers then have one time-out to show up.
"""

from dataclasses import dataclass

_NEVER = (1 << 63) - 1


@dataclass(slots=True)
class _Session:
    epoch: int
    last_heard_ms: float
    #: How far the broker has read the metadata log.
    metadata_offset: int = -1
    #: The end of the log when its controlled shutdown began; all must have read up to here.
    shutdown_offset: int | None = None
    fenced: bool = True


class BrokerSessions:
    """Heartbeats by broker."""

    def __init__(self, timeout_ms: float = 9000) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, _Session] = {}

    def touch(
        self, broker_id: int, epoch: int, now_ms: float, *, metadata_offset: int, fenced: bool
    ) -> None:
        """A broker was heard."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            session = self._sessions[broker_id] = _Session(epoch, now_ms)
        session.last_heard_ms = now_ms
        session.metadata_offset = max(session.metadata_offset, metadata_offset)
        session.fenced = fenced

    def remove(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def is_alive(self, broker_id: int, now_ms: float) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and now_ms - session.last_heard_ms < self._timeout_ms

    def expired(self, now_ms: float) -> list[tuple[int, int]]:
        """(broker, epoch) of those in service that have been silent for too long."""
        return [
            (broker_id, session.epoch)
            for broker_id, session in self._sessions.items()
            if not session.fenced and now_ms - session.last_heard_ms >= self._timeout_ms
        ]

    def begin_shutdown(self, broker_id: int, log_end_offset: int) -> None:
        """Note what everybody must have read before this broker may go."""
        session = self._sessions.get(broker_id)
        if session is not None and session.shutdown_offset is None:
            session.shutdown_offset = log_end_offset

    def may_stop(self, broker_id: int) -> bool:
        """Whether all brokers in service know that this one no longer leads anything."""
        session = self._sessions.get(broker_id)
        if session is None or session.shutdown_offset is None:
            return True
        lowest = min(
            (
                other.metadata_offset
                for other_id, other in self._sessions.items()
                if not other.fenced and other.shutdown_offset is None and other_id != broker_id
            ),
            default=_NEVER,
        )
        return session.shutdown_offset <= lowest
