"""Those who wait for an answer of one coordinator, each under a token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.base.errors import KafkaError
from headrace.broker.coordination.long_work import Soon

#: Gets a response, or the error that kept its records from being written.
Reply = Callable[[Any], None]

#: The token of an event that nobody waits for.
NOBODY = -1
_REPLIES_AT_ONCE = 250


class Waiting:
    """Each is answered once, and not at all after it left."""

    __slots__ = ("_next_token", "_replies", "_soon")

    def __init__(self, soon: Soon) -> None:
        self._soon = soon
        self._replies: dict[int, Reply] = {}
        self._next_token = 0

    def add(self, reply: Reply) -> int:
        token = self._next_token
        self._next_token = token + 1
        self._replies[token] = reply
        return token

    def forget(self, token: int) -> None:
        self._replies.pop(token, None)

    def answer(self, answers: Sequence[tuple[int, Any]], start: int = 0) -> None:
        """In parts that let others have their turn: a group may have 10,000 members."""
        end = start + _REPLIES_AT_ONCE
        for token, response in answers[start:end]:
            reply = self._replies.pop(token, None)
            if reply is not None:
                reply(response)
        if end < len(answers):
            self._soon(lambda: self.answer(answers, end))

    def refuse(self, answers: Sequence[tuple[int, Any]], error: KafkaError) -> None:
        """Whoever would have had an answer hears why there is none."""
        for token, _ in answers:
            reply = self._replies.pop(token, None)
            if reply is not None:
                reply(error)

    def refuse_all(self, error: KafkaError) -> None:
        waiting, self._replies = self._replies, {}
        for reply in waiting.values():
            reply(error)
