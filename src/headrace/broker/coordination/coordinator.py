"""What the runtime asks of a coordinator."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.base.outcome import Outcome


class Coordinator(Protocol):
    """The pure part."""

    def apply(self, key: Any, value: Any, producer_id: int) -> None:
        """Take over a committed record; `producer_id` is -1 outside of transactions."""
        ...

    def apply_marker(self, producer_id: int, committed: bool) -> None:
        """A producer's transaction ended: its records so far count, or never were."""
        ...

    def timer_expired(self, name: str, now_ms: int) -> Outcome[Any, Any]: ...

    def loaded(self, now_ms: int) -> Outcome[Any, Any]:
        """All records have been applied: set timers, expect members to come back."""
        ...
