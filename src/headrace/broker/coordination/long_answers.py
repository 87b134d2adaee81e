"""Answers that may take more than a moment are made, and encoded, in steps.

Between the steps others have their turn, and nothing more is done for a client that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from headrace.base.errors import KafkaError
from headrace.broker.coordination.long_work import Soon, in_steps, joined
from headrace.broker.parked import Close, Encoded, Parked
from headrace.protocol import compiler
from headrace.protocol.compiler import Buffer
from headrace.protocol.schema import Response

#: What is done in one turn, in microseconds as the steps count them.
_COST_AT_ONCE = 5_000
#: Elements that are encoded in one turn, about two microseconds each.
_ELEMENTS_AT_ONCE = 2_000


def answer_in_steps(
    steps: Generator[int, None, Response],
    version: int,
    soon: Soon,
    refused: Callable[[KafkaError], Response],
) -> Parked:
    """The response that `steps` return; each of them yields what it cost.

    `refused` makes the response if a step raises.
    """
    parked = Parked()

    def made(reply: Response | Encoded | KafkaError) -> None:
        parked.complete(refused(reply) if isinstance(reply, KafkaError) else reply)

    in_steps(_made(steps, version), 1, soon, lambda: not parked.is_done, made)
    return parked


def complete_in_steps(parked: Parked, response: Response, version: int, soon: Soon) -> None:
    """Complete with a response that is there, but long."""
    steps = encoded_in_steps(response, version, _ELEMENTS_AT_ONCE)
    complete_when_encoded(parked, response, steps, _ELEMENTS_AT_ONCE, soon)


def complete_when_encoded(
    parked: Parked,
    response: Response,
    steps: Generator[None, None, list[Buffer]],
    at_once: int,
    soon: Soon,
) -> None:
    """Complete with a response once `steps` have encoded it, so many of them in a turn."""

    def encoded(chunks: list[Buffer] | KafkaError) -> None:
        if isinstance(chunks, KafkaError):
            parked.complete(Close("the response cannot be written"))
        else:
            parked.complete(Encoded(response, chunks))

    in_steps(steps, at_once, soon, lambda: not parked.is_done, encoded)


def encoded_in_steps(
    response: Response, version: int, together: int
) -> Generator[None, None, list[Buffer]]:
    """A step for each element; so many of them are joined to one chunk."""
    write = compiler.stepwise_writer(type(response), version)
    chunks: list[Buffer] = []
    pending: list[Buffer] = []
    for count, _ in enumerate(write(response, pending.append), start=1):
        if count % together == 0:
            chunks.append(b"".join(pending))
            pending.clear()
        yield
    chunks.append(b"".join(pending))
    return chunks


def _made(
    steps: Generator[int, None, Response], version: int
) -> Generator[None, None, Response | Encoded]:
    """Steps of about equal cost; what was made in the first one need not be encoded in steps."""
    cost = 0
    is_long = False
    while True:
        try:
            cost += next(steps)
        except StopIteration as end:
            response: Response = end.value
            break
        if cost >= _COST_AT_ONCE:
            cost, is_long = 0, True
            yield
    if not is_long:
        return response
    encoding = encoded_in_steps(response, version, _ELEMENTS_AT_ONCE)
    return Encoded(response, (yield from joined(encoding, _ELEMENTS_AT_ONCE)))
