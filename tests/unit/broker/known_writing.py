"""Twins with a client that is known to write to `t`, and its requests in few words."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.unit.broker.batches import batch, produce_request
from tests.unit.broker.twins import Pair, Twins

VERSION = 12


def known_writer(directory: Path, served: Counter[str]) -> Iterator[Twins]:
    """Two partitions of `t`, and a client that is known to write to them."""
    with Twins(directory) as made:
        made.create_topic("t", 2)
        for _ in range(3):
            send(made, batch())
        assert served == {"produce": 1}
        served.clear()
        yield made


def send(twins: Twins, *batches: bytes | bytearray | None) -> Pair:
    """To the partitions from 0 on."""
    parts = [("t", index, data) for index, data in enumerate(batches)]
    return twins.send(produce_request(*parts), VERSION)


def codes(pair: Pair) -> list[int]:
    return [result.error_code for result in pair.response.responses[0].partition_responses]
