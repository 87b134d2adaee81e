"""How handlers reach the controller: a command goes in, and the parked request gets its reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from headrace.base.errors import KafkaError
from headrace.broker.parked import Parked
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.image import MetadataImage
from headrace.protocol.schema import Response

#: Looks at the newest state; returns records and a reply, or raises KafkaError.
Command = Callable[[MetadataImage], ControllerResult[Any]]


class Controller(Protocol):
    """Whoever runs commands one after the other and makes their records durable."""

    def submit(self, command: Command, done: Callable[[Any], None]) -> None:
        """`done` gets the reply or the KafkaError once everything before it is durable."""
        ...


def ask(
    controller: Controller,
    command: Command,
    answer: Callable[[Any], Response],
    refuse: Callable[[KafkaError], Response],
) -> Parked:
    """Submit a command for a request; its response is made of the reply or of the error."""
    parked = Parked()

    def done(reply: Any) -> None:
        parked.complete(refuse(reply) if isinstance(reply, KafkaError) else answer(reply))

    controller.submit(command, done)
    return parked
