"""What the driver tells the tasks of a transaction."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.client.transactions import Producer
from headrace.spark.sink_options import SinkOptions


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What tasks need to know; it travels to the executors."""

    options: SinkOptions
    columns: list[str]
    transactional_id: str
    producer: Producer
    #: Where the driver keeps the ledger, and what it lets in.
    driver: tuple[str, int]
    token: str
