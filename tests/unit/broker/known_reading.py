"""Twins with records in `t`, and the requests of a client that reads them in few words."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.unit.broker.batches import batch, fetch_request, produce_request
from tests.unit.broker.twins import Pair, Twins

VERSION = 12
#: Requests of older versions are never known.
_UNKNOWN_VERSION = 8


def filled_twins(directory: Path, served: Counter[str]) -> Iterator[Twins]:
    """Offsets 0 to 5 of `t`."""
    with Twins(directory) as made:
        made.create_topic("t", 2)
        fill(made, 2, 2, 2)
        served.clear()
        yield made


def fill(twins: Twins, *counts: int, index: int = 0, value: bytes = b"value") -> None:
    for count in counts:
        records = batch(count, value=value)
        twins.send(produce_request(("t", index, records)), _UNKNOWN_VERSION)


def send(twins: Twins, offset: int, topic: str = "t", **options: Any) -> Pair:
    return twins.send(fetch_request((topic, 0, offset), **options), VERSION)
