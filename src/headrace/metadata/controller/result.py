"""What a command of the controller returns: the records to write, and the reply once they are."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from headrace.metadata.record_codec import AnyRecord

R = TypeVar("R")

#: The most records that one user's request may cause (Kafka's limit).
RECORDS_PER_OPERATION_MAX = 10_000


@dataclass(frozen=True, slots=True)
class ControllerResult(Generic[R]):
    """Nothing has happened yet: state changes when the records are applied, never before."""

    reply: R
    records: list[AnyRecord] = field(default_factory=list)
