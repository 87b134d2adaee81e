"""Regular expressions of subscriptions: checked when they come, looked up in small steps.

Looking one up means compiling it and matching it against all topics; that is cut into steps of
about equal cost, between which others have their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.base.errors import KafkaError
from headrace.base.linear_regex import STEP_COST_MAX, compile_cost, compile_regex, match_cost
from headrace.groups.consumer.subscriptions import ResolvedRegex
from headrace.groups.topics import Topics


def check_regex(regex: str) -> None:
    """Raise `KafkaError` for an expression that cannot be used."""
    _compile(regex)


def _compile(regex: str) -> Any:
    return compile_regex(regex, "SubscribedTopicRegex")


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
            if cost >= STEP_COST_MAX:
                return None
        return {
            regex: ResolvedRegex(frozenset(found), self._version, self._started_ms)
            for regex, found in self._found.items()
        }

    def _match_all(self) -> Iterator[int]:
        """Yields the cost of each expression that it compiles, and of each match."""
        for regex, found in self._found.items():
            try:
                pattern = _compile(regex)
            except KafkaError:
                yield compile_cost(regex)
                continue  # accepted by another coordinator; it matches nothing here
            yield compile_cost(regex, pattern)
            for name in self._names:
                is_match = pattern.fullmatch(name.encode()) is not None
                if is_match and self._may_describe(name):
                    found.add(name)
                yield match_cost(pattern, len(name))
