"""How long a client may keep a server waiting."""

from __future__ import annotations

import time

#: Without a byte for so long a connection is closed; Confluent's `idle.timeout.ms`.
IDLE_TIMEOUT_MS = 30_000
_START_S = 60.0
_BYTES_PER_SECOND = 100_000


class BodyPace:
    """How slowly a body may come on the whole: a minute, and a second for each 100 kB of it."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def is_kept(self, received: int) -> bool:
        allowed = _START_S + received / _BYTES_PER_SECOND
        return time.monotonic() - self._began <= allowed
