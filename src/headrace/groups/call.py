"""One request to a coordinator, with what its reply and its checks need to know."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from headrace.base.outcome import Outcome
from headrace.protocol.coordinator_record import CoordinatorRecord

Q = TypeVar("Q")

#: What a step of the group coordinator wants to happen.
GroupOutcome = Outcome[CoordinatorRecord, Any]


class Client(Protocol):
    """Who asks."""

    @property
    def client_id(self) -> str: ...

    @property
    def shown_host(self) -> str:
        """As Kafka prints an address: with a slash in front."""
        ...

    @property
    def api_version(self) -> int: ...

    def may_describe(self, topic: str) -> bool:
        """Whether the client may know of a topic."""
        ...


class Call(NamedTuple, Generic[Q]):
    """The request, and the token under which its response is awaited."""

    token: int
    request: Q
    client: Client
    now_ms: int

    def answer(self, response: Any) -> GroupOutcome:
        """Nothing happens but this response."""
        return Outcome(replies=[(self.token, response)])
