"""What a user is told of an error of the cluster."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.spark.errors import PipelineError


def in_one_sentence(error: KafkaError) -> PipelineError:
    """The error as a sentence for people, with what to do where there is something."""
    if error.code == ErrorCode.MESSAGE_TOO_LARGE:
        return PipelineError(
            f"A record is too large for its topic: {error.message} Raise max.message.bytes of the"
            " topic."
        )
    if error.code == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        return PipelineError(
            "The cluster does not allow transactions that long: set kafka.transaction.timeout.ms"
            " to at most its transaction.max.timeout.ms."
        )
    return PipelineError(error.message or f"The cluster answered {error.code.name}.")
