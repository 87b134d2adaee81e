"""Answers requests that describe groups, in steps if the groups have many members.

A group is asked for at one moment, so that what is said of it fits together. Its members are then
written out, and the answer encoded, some at a time, while others have their turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any

from headrace.base.errors import KafkaError
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, send
from headrace.broker.coordination.long_answers import complete_when_encoded, encoded_in_steps
from headrace.broker.parked import Parked
from headrace.groups.description import Description
from headrace.protocol.compiler import Buffer
from headrace.protocol.schema import Response

#: Members that are taken note of in one turn of the loop, a microsecond each.
_NOTED_AT_ONCE = 4_000
#: Answers with more members than this are made in steps.
_ANSWERED_AT_ONCE = 100
#: Elements of an answer that are made, or encoded, in one turn: a few milliseconds.
_ELEMENTS_AT_ONCE = 150

Refused = Callable[[str, KafkaError], Description]


class GroupDescriptions:
    """Serves one request."""

    def __init__(
        self,
        groups: Groups,
        context: RequestContext,
        request: Callable[[list[str]], Any],
        refused: Refused,
        answer: Callable[[list[Description]], Response],
    ) -> None:
        """`request` asks a coordinator; `refused` says why a group cannot be described.

        `answer` makes the response of what was found, whose members may still be missing.
        """
        self._groups = groups
        self._context = context
        self._request = request
        self._refused = refused
        self._answer = answer
        self._turns = groups.coordinators.turns
        self._parked = Parked()
        self._names: deque[str] = deque()
        self._found: list[Description] = []
        self._waiting = 0
        self._is_asking = False
        #: Members so far, each group counted as one more.
        self._size = 0

    def describe(self, group_ids: Iterable[str]) -> Parked:
        # Once each: a group that is asked for a thousand times would be described as often.
        self._names.extend(dict.fromkeys(group_ids))
        self._ask()
        return self._parked

    def _ask(self) -> None:
        if self._parked.is_done:
            return  # the client is gone
        self._is_asking = True
        enough = self._size + _NOTED_AT_ONCE
        while self._names and self._size < enough:
            self._ask_for(self._names.popleft())
        self._is_asking = False
        if self._names:
            self._turns.add(self._ask)
        elif not self._waiting:
            self._finish()

    def _ask_for(self, group_id: str) -> None:
        try:
            shard = self._groups.coordinators.shard_for(group_id)
        except KafkaError as error:
            self._take(self._refused(group_id, error))
            return

        def answered(reply: Any) -> None:
            self._waiting -= 1
            is_error = isinstance(reply, KafkaError)
            self._take(self._refused(group_id, reply) if is_error else reply[0])
            if not (self._is_asking or self._names or self._waiting):
                self._finish()

        self._waiting += 1
        send(shard, self._context, self._request([group_id]), answered)

    def _take(self, description: Description) -> None:
        self._found.append(description)
        self._size += 1 + description.member_count

    def _finish(self) -> None:
        response = self._answer(self._found)
        if self._size - len(self._found) <= _ANSWERED_AT_ONCE:
            for description in self._found:
                description.whole()
            self._parked.complete(response)
            return

        complete_when_encoded(
            self._parked, response, self._encoded(response), _ELEMENTS_AT_ONCE, self._turns.add
        )

    def _encoded(self, response: Response) -> Generator[None, None, list[Buffer]]:
        for description in self._found:
            yield from description.steps()
        version = self._context.api_version
        return (yield from encoded_in_steps(response, version, _ELEMENTS_AT_ONCE))
