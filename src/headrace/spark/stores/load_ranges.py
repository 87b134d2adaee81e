"""From where to where the next load of a topic reads: pure decisions over offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.client.leaders import TopicPartition
from headrace.spark.errors import DataLossError


@dataclass(frozen=True, slots=True)
class LoadRange:
    """The offsets of each partition that a load takes; the end is not part of it."""

    starting: Mapping[TopicPartition, int]
    ending: Mapping[TopicPartition, int]

    @property
    def count(self) -> int:
        """Offsets, of which some may be compacted away or marks of transactions."""
        return sum(end - self.starting[key] for key, end in self.ending.items())


def next_range(
    earliest: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    wanted: Mapping[TopicPartition, int],
    *,
    fail_on_data_loss: bool = True,
) -> LoadRange:
    """From where it is wanted, which is where the last load ended, to the end there is now.

    Records that retention removed before they were loaded, or an end that moved back, are a loss,
    which is told unless the caller wants to go on with what there is.
    """
    starting = {}
    for key, end in latest.items():
        start, begin = wanted[key], earliest[key]
        if fail_on_data_loss and not begin <= start <= end:
            topic, partition = key
            raise DataLossError(
                f"The load of {topic}-{partition} should go on at offset {start}, but there is"
                f" {begin} to {end} now: records are lost, or the topic is another one."
                " With failOnDataLoss=false the load goes on with what there is."
            )
        starting[key] = max(start, begin) if start <= end else begin
    return LoadRange(starting, dict(latest))
