"""Regular expressions of subscriptions: checked when they come, looked up in small steps.

They come from clients, so they run on RE2, which takes linear time whatever it is given, with a
bound on memory. Looking one up means matching it against all topics; that is cut into steps of
about equal cost, between which others have their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.subscriptions import ResolvedRegex
from headrace.groups.topics import Topics

#: Bytes for a compiled expression and its caches; larger expressions are refused.
_MEMORY_MAX = 256 * 1024
#: What a step may cost, in microseconds by a pessimistic rule: a call, and one microsecond for
#: each instruction of the program per 256 characters (measured with expressions made to be slow).
_STEP_COST_MAX = 5_000
_CALL_COST = 2
_CHARACTERS = 256


def check_regex(regex: str) -> None:
    """Raise `KafkaError` for an expression that cannot be used."""
    _compile(regex)


def _compile(regex: str) -> Any:
    try:
        # Imported at first use: most nodes never see a regular expression.
        import re2
    except ImportError as error:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            "SubscribedTopicRegex needs the package google-re2 on the broker.",
        ) from error
    options = re2.Options()
    options.max_mem = _MEMORY_MAX
    options.never_capture = True
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression:"
            f" {what_re2_says(error)}.",
        ) from error


def what_re2_says(error: Exception) -> str:
    """RE2's own words for what is wrong with an expression, which come as bytes."""
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


class RegexLookup:
    """Matches the expressions of one group against all topics, step by step."""

    def __init__(
        self,
        regexes: Iterable[str],
        topics: Topics,
        may_describe: Callable[[str], bool],
        now_ms: int,
    ) -> None:
        self._may_describe = may_describe
        self._version = topics.version
        self._started_ms = now_ms
        self._found: dict[str, set[str]] = {regex: set() for regex in regexes}
        self._names = list(topics.names())
        self._matches = self._match_all()

    def step(self) -> dict[str, ResolvedRegex] | None:
        """Go on for a while; the topics of every expression when all is done."""
        cost = 0
        for spent in self._matches:
            cost += spent
            if cost >= _STEP_COST_MAX:
                return None
        return {
            regex: ResolvedRegex(frozenset(found), self._version, self._started_ms)
            for regex, found in self._found.items()
        }

    def _match_all(self) -> Iterator[int]:
        """Yields the cost of each match."""
        for regex, found in self._found.items():
            try:
                pattern = _compile(regex)
            except KafkaError:
                continue  # accepted by another coordinator; it matches nothing here
            size = pattern.programsize
            for name in self._names:
                is_match = pattern.fullmatch(name.encode()) is not None
                if is_match and self._may_describe(name):
                    found.add(name)
                yield _CALL_COST + size * len(name) // _CHARACTERS
