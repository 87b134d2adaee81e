"""Looking into a batch: the slow part of producing, as plain data so that it can run elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.codecs import Codec
from headrace.records.deep import ANY_TIME, RefusedRecordsError, recompress, validate_deep


@dataclass(frozen=True, slots=True)
class Preparation:
    """A batch whose records must be checked, and perhaps written with another codec."""

    batch: bytes
    key_required: bool
    codec: int | None
    level: int | None
    #: The earliest and the latest time that a record may be from.
    timestamps_between: tuple[int, int] = ANY_TIME


@dataclass(frozen=True, slots=True)
class Prepared:
    """What came of it: the batch to append (None: as it was), or why it is refused."""

    batch: bytes | None = None
    error_code: int = 0
    message: str = ""
    #: The records at fault, by their number in the batch, and what is wrong with each (KIP-467).
    record_errors: tuple[tuple[int, str], ...] = ()

    @property
    def failure(self) -> KafkaError | None:
        if self.error_code == 0:
            return None
        return KafkaError(ErrorCode(self.error_code), self.message)


#: What is told of a batch over which the process that looked into it ended.
UNEXAMINED = Prepared(
    None,
    int(ErrorCode.CORRUPT_MESSAGE),
    "The records of the batch could not be looked into: the process that did so ended.",
)


#: What is told where no such process can be started: nothing is wrong with the batch, and it was
#: not appended. Every client sends a batch again after this error; some do not after
#: KAFKA_STORAGE_ERROR, and after REQUEST_TIMED_OUT they have to ask themselves what became of it.
UNSTARTED = Prepared(
    None,
    int(ErrorCode.NOT_ENOUGH_REPLICAS),
    "The records of the batch could not be looked into: no process can be started now.",
)


def prepare(job: Preparation) -> Prepared:
    """Do it; never raises, or the producer would wait for ever."""
    try:
        validate_deep(
            job.batch,
            key_required=job.key_required,
            timestamps_between=job.timestamps_between,
        )
        if job.codec is None:
            return Prepared()
        return Prepared(bytes(recompress(job.batch, Codec(job.codec), job.level)))
    except RefusedRecordsError as error:
        errors = tuple((one.batch_index, one.message) for one in error.record_errors)
        return Prepared(None, int(error.code), error.message, errors)
    except KafkaError as error:
        return Prepared(None, int(error.code), error.message)
    except Exception as error:  # noqa: BLE001 - the edge of one batch; the broker tells its sender
        message = f"The batch cannot be looked into: {error!r}"
        return Prepared(None, int(ErrorCode.UNKNOWN_SERVER_ERROR), message)
