"""Looking into a batch: the slow part of producing, as plain data so that it can run elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.codecs import Codec
from headrace.records.deep import recompress, validate_deep


@dataclass(frozen=True, slots=True)
class Preparation:
    """A batch whose records must be checked, and perhaps written with another codec."""

    batch: bytes
    key_required: bool
    codec: int | None
    level: int | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What came of it: the batch to append (None: as it was), or why it is refused."""

    batch: bytes | None = None
    error_code: int = 0
    message: str = ""

    @property
    def failure(self) -> KafkaError | None:
        if self.error_code == 0:
            return None
        return KafkaError(ErrorCode(self.error_code), self.message)


def prepare(job: Preparation) -> Prepared:
    """Do it; never raises, or the producer would wait for ever."""
    try:
        validate_deep(job.batch, key_required=job.key_required)
        if job.codec is None:
            return Prepared()
        return Prepared(bytes(recompress(job.batch, Codec(job.codec), job.level)))
    except KafkaError as error:
        return Prepared(None, int(error.code), error.message)
    except Exception as error:  # noqa: BLE001 - the edge of one batch; the broker tells its sender
        message = f"The batch cannot be looked into: {error!r}"
        return Prepared(None, int(ErrorCode.UNKNOWN_SERVER_ERROR), message)
