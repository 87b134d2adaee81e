"""How batches are sent; apart, so that whoever only plans a write need not load a client."""

from __future__ import annotations

from dataclasses import dataclass

#: A broker remembers this many batches of a producer for each partition, no more.
IN_FLIGHT_MAX = 5


@dataclass(frozen=True, slots=True)
class SendConfig:
    """The names are those of Kafka's producer settings."""

    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    request_bytes_max: int = 1_048_576
    in_flight_max: int = IN_FLIGHT_MAX
    transactional_id: str | None = None

    @property
    def answer_timeout_ms(self) -> int:
        """Longer than the broker itself may wait for replicas."""
        return self.request_timeout_ms + 5_000
