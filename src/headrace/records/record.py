"""One record as applications see it. The broker itself never makes one on its hot path."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Header: TypeAlias = tuple[str, bytes | None]


@dataclass(slots=True)
class Record:
    """A record with its absolute offset and timestamp (milliseconds since 1970)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()
