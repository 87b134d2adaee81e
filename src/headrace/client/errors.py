"""What a client reports when it cannot get an answer at all."""

from __future__ import annotations

from headrace.base.errors import RETRIABLE, ErrorCode, KafkaError

#: What a request is worth repeating after: somebody is away, or moves. A node that is on its way
#: back is not among the brokers for a moment.
PASSING = RETRIABLE | {ErrorCode.BROKER_NOT_AVAILABLE}


class ConnectionFailedError(KafkaError):
    """No usable connection: refused, timed out, closed, or not Kafka at the other end."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)


class UnreachableError(ConnectionFailedError):
    """Nobody listens at the address, or its name means nothing: trying again at once is no use."""


def raise_for_code(code: int, message: str | None = None) -> None:
    """Turn the error code of a response into the exception it stands for."""
    if code:
        raise error_for_code(code, message)


def error_for_code(code: int, message: str | None = None) -> KafkaError:
    """The exception for an error code; a code newer than we are keeps its number in the text."""
    try:
        known = ErrorCode(code)
    except ValueError:
        unknown = f"The broker answered with error code {code}, which this version does not know."
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message or unknown)
    return KafkaError(known, message or "")
