"""How many connections there may be, and how fast they may come: `max.connections` and its kin.

What holds for all listeners of clients, or of the controller, is counted in `ConnectionCounts`;
what `listener.name.<name>.` narrows to one listener is counted by its own `ListenerCounts`.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.typed import Values, integer, text
from headrace.server.listener_config import parse_map

_UNLIMITED = 2**31 - 1
_PER_IP = "max.connections.per.ip"
_OVERRIDES = "max.connections.per.ip.overrides"
#: Between two sentences about refused connections.
_QUIET_MS = 10_000.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Kafka's `max.connections*`, `connections.max.idle.ms` and what bounds requests."""

    frame_size_max: int = 104_857_600
    connections_max: int = _UNLIMITED
    connections_per_ip_max: int = _UNLIMITED
    connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    creation_rate_max: int = _UNLIMITED
    idle_ms_max: int = 600_000
    #: See `RequestMemory`.
    queued_bytes_max: int = -1


def overrides_per_ip(values: Values) -> dict[str, int]:
    """How many connections each address may have that `max.connections.per.ip.overrides` names."""
    entries = parse_map(_OVERRIDES, text(values, _OVERRIDES))
    return {address: _override(address, count) for address, count in entries.items()}


def _override(address: str, count: str) -> int:
    """By the rules of the setting that it overrides: `int` alone refuses very long numbers."""
    try:
        return integer({_PER_IP: BROKER_SETTINGS[_PER_IP].parse(count)}, _PER_IP)
    except KafkaError:
        message = f"{_OVERRIDES} has no number for {address}: {count}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message) from None


class CreationRate:
    """Connections of the last second, where they are limited."""

    __slots__ = ("_recent", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._recent: deque[float] = deque()

    def is_reached(self, now_ms: float) -> bool:
        recent = self._recent
        while recent and now_ms - recent[0] > 1000.0:
            recent.popleft()
        return len(recent) >= self.limit

    def count(self, now_ms: float) -> None:
        if self.limit < _UNLIMITED:
            self._recent.append(now_ms)


class ConnectionCounts:
    """How many connections there are, by client address, over all listeners of one kind."""

    def __init__(self, limits: ConnectionLimits, room: int = _UNLIMITED) -> None:
        self._limits = limits
        #: What the system's limit of open files leaves (see `file_limit`).
        self._room = room
        self._by_host: Counter[str] = Counter()
        self._total = 0
        self._rate = CreationRate(limits.creation_rate_max)

    def __len__(self) -> int:
        return self._total

    def change(self, limits: ConnectionLimits) -> None:
        """Other limits for those who come from now on."""
        self._limits = limits
        self._rate.limit = limits.creation_rate_max

    def admit(self, host: str, now_ms: float, listener: ListenerCounts | None = None) -> str | None:
        """Count a new connection, or say why it is refused."""
        refusal = self._refusal(host, now_ms)
        if refusal is None and listener is not None:
            refusal = listener.refusal(now_ms)
        if refusal is not None:
            return refusal
        self._rate.count(now_ms)
        self._by_host[host] += 1
        self._total += 1
        if listener is not None:
            listener.count(now_ms)
        return None

    def _refusal(self, host: str, now_ms: float) -> str | None:
        limits = self._limits
        if self._total >= limits.connections_max:
            return f"max.connections of {limits.connections_max} is reached"
        if self._total >= self._room:
            return f"the limit of open files leaves room for {self._room} connections"
        per_ip = limits.connections_per_ip_overrides.get(host, limits.connections_per_ip_max)
        if self._by_host[host] >= per_ip:
            return f"max.connections.per.ip of {per_ip} is reached"
        if self._rate.is_reached(now_ms):
            return f"max.connection.creation.rate of {self._rate.limit} is reached"
        return None

    def release(self, host: str, listener: ListenerCounts | None = None) -> None:
        self._total -= 1
        self._by_host[host] -= 1
        if self._by_host[host] <= 0:
            del self._by_host[host]
        if listener is not None:
            listener.release()


class ListenerCounts:
    """What one listener may have of the node's connections."""

    __slots__ = ("_limit", "_prefix", "_rate", "_total")

    def __init__(self, name: str, limit: int = _UNLIMITED, rate: int = _UNLIMITED) -> None:
        self._prefix = f"listener.name.{name.lower()}."
        self._limit = limit
        self._rate = CreationRate(rate)
        self._total = 0

    def change(self, limit: int, rate: int) -> None:
        """Other limits for those who come from now on."""
        self._limit = limit
        self._rate.limit = rate

    def refusal(self, now_ms: float) -> str | None:
        if self._total >= self._limit:
            return f"{self._prefix}max.connections of {self._limit} is reached"
        if self._rate.is_reached(now_ms):
            return f"{self._prefix}max.connection.creation.rate of {self._rate.limit} is reached"
        return None

    def count(self, now_ms: float) -> None:
        self._rate.count(now_ms)
        self._total += 1

    def release(self) -> None:
        self._total -= 1


class RefusalLog:
    """Tells of refused connections now and then: a client that insists must not fill the log."""

    __slots__ = ("_logger", "_next_ms", "_untold")

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._next_ms = 0.0
        self._untold = 0

    def note(self, host: str, reason: str, now_ms: float) -> None:
        if now_ms < self._next_ms:
            self._untold += 1
            return
        more = f" ({self._untold} more were refused since the last such line)"
        self._logger.warning(
            "refusing a connection from %s: %s%s", host, reason, more if self._untold else ""
        )
        self._untold = 0
        self._next_ms = now_ms + _QUIET_MS
