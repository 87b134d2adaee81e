"""Invariants whose breach must stop the node rather than cost data."""


class InvariantBrokenError(Exception):
    """Something that can only be a bug, or a disk that lies."""


def check(condition: bool, message: str) -> None:
    """Like `assert`, but never compiled away: data safety depends on it."""
    if not condition:
        raise InvariantBrokenError(message)
