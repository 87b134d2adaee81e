"""Answers an OffsetFetch for many groups, or for groups with many offsets, in steps.

Tools ask for all groups of a cluster at once. A few are looked at in one turn of the loop, and a
long answer is encoded some at a time, while others have their turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from headrace.broker.coordination.long_answers import complete_in_steps
from headrace.broker.coordination.long_work import Soon
from headrace.broker.parked import Parked
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

#: Partitions that are looked up, or encoded, in one turn: a few milliseconds.
_PARTITIONS_AT_ONCE = 2_000
#: A group costs as much as so many partitions, however few it has.
_GROUP_SIZE = 10

Take = Callable[[OffsetFetchResponseGroup], None]


class FetchedGroups:
    """Serves one request."""

    def __init__(
        self,
        fetch: Callable[[OffsetFetchRequestGroup, Take], None],
        answer: Callable[[list[OffsetFetchResponseGroup]], OffsetFetchResponse],
        version: int,
        soon: Soon,
    ) -> None:
        """`fetch` has one group looked up; `answer` makes the response, in the order asked."""
        self._fetch = fetch
        self._answer = answer
        self._version = version
        self._soon = soon
        self._parked = Parked()
        self._asked: Sequence[OffsetFetchRequestGroup] = ()
        self._next = 0
        self._found: dict[int, OffsetFetchResponseGroup] = {}
        #: In partitions.
        self._size = 0

    def of(self, asked: Sequence[OffsetFetchRequestGroup]) -> Parked:
        self._asked = asked
        self._ask()
        return self._parked

    def _ask(self) -> None:
        if self._parked.is_done:
            return  # the client is gone
        enough = self._size + _PARTITIONS_AT_ONCE
        while self._next < len(self._asked) and self._size < enough:
            index = self._next
            self._next += 1
            self._size += _GROUP_SIZE
            self._fetch(self._asked[index], partial(self._take, index))
        if self._next < len(self._asked):
            self._soon(self._ask)
        elif not self._asked:
            self._finish()

    def _take(self, index: int, group: OffsetFetchResponseGroup) -> None:
        self._found[index] = group
        self._size += sum(len(topic.partitions) for topic in group.topics)
        if len(self._found) == len(self._asked):
            self._finish()

    def _finish(self) -> None:
        response = self._answer([self._found[index] for index in range(len(self._asked))])
        if self._size <= _PARTITIONS_AT_ONCE:
            self._parked.complete(response)
        else:
            complete_in_steps(self._parked, response, self._version, self._soon)
