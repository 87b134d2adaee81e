"""A coordinator that is as simple as can be: a dictionary of texts, and what happened to it."""

from __future__ import annotations

from typing import Any

from headrace.base.outcome import Outcome


class ToyCodec:
    """Texts as bytes; keys that begin with `?` are of a kind that nobody here knows."""

    def encode(self, key: str, value: str | None) -> tuple[bytes, bytes | None]:
        return key.encode(), None if value is None else value.encode()

    def decode(self, key: bytes, value: bytes | None) -> tuple[str, str | None] | None:
        if key.startswith(b"?"):
            return None
        return key.decode(), None if value is None else value.decode()


class ToyCoordinator:
    """Keeps what is applied, and a diary."""

    def __init__(self) -> None:
        self.state: dict[str, str] = {}
        self.diary: list[str] = []

    def apply(self, key: str, value: str | None, producer_id: int) -> None:
        owner = "" if producer_id < 0 else f" of {producer_id}"
        self.diary.append(f"{key}={value}{owner}")
        if value is None:
            self.state.pop(key, None)
        else:
            self.state[key] = value

    def apply_marker(self, producer_id: int, committed: bool) -> None:
        self.diary.append(f"{producer_id} {'commits' if committed else 'aborts'}")

    def timer_expired(self, name: str, now_ms: int) -> Outcome[Any, Any]:
        self.diary.append(f"{name} expired")
        return Outcome()

    def loaded(self, now_ms: int) -> Outcome[Any, Any]:
        self.diary.append("loaded")
        return Outcome()
