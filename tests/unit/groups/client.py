"""Who asks the coordinators of these tests."""

from __future__ import annotations

from typing import NamedTuple


class LocalClient(NamedTuple):
    """May know of every topic."""

    client_id: str
    api_version: int
    shown_host: str = "/127.0.0.1"

    def may_describe(self, topic: str) -> bool:
        return True
