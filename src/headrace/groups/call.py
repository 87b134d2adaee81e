"""One request to a coordinator, with what its reply and its checks need to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from headrace.base.outcome import Outcome
from headrace.protocol.coordinator_record import CoordinatorRecord

Q = TypeVar("Q")

#: What a step of the group coordinator wants to happen.
GroupOutcome = Outcome[CoordinatorRecord, Any]


def _anything(topic: str) -> bool:
    return True


class ClientInfo(NamedTuple):
    """Who asks."""

    client_id: str
    #: As Kafka prints an address: with a slash in front.
    client_host: str
    api_version: int
    #: Whether the client may know of a topic.
    may_describe: Callable[[str], bool] = _anything


class Call(NamedTuple, Generic[Q]):
    """The request, and the token under which its response is awaited."""

    token: int
    request: Q
    client: ClientInfo
    now_ms: int

    def answer(self, response: Any) -> GroupOutcome:
        """Nothing happens but this response."""
        return Outcome(replies=[(self.token, response)])
