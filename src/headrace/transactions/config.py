"""The settings of transaction coordinators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Defaults are Kafka's."""

    timeout_ms_max: int = 900_000
    id_expiration_ms: int = 604_800_000
    #: Pause between two looks for transactions past their timeout.
    abort_check_interval_ms: int = 10_000
    #: Pause between two looks for transactional ids that nobody uses any more.
    expiration_check_interval_ms: int = 3_600_000
    #: Pause before the end of a transaction is written again after its record was refused.
    completion_retry_ms: int = 100
