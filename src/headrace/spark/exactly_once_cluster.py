"""Which sources are of the cluster that is written to: only their offsets go into a transaction.

Topics of two clusters may have the same name, so the clusters themselves are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.spark.exactly_once_offsets import SourceEnd
from headrace.spark.options import client_config

ClusterId = Callable[[Mapping[str, str]], str | None]


def ask_cluster_id(settings: Mapping[str, str]) -> str | None:
    """The id of the cluster that these settings lead to; raises KafkaError."""
    with KafkaClient(client_config(settings)) as client:
        return client.refresh().cluster_id


class HomeCluster:
    """The cluster that is written to; the id of each other is asked for once."""

    def __init__(self, settings: Mapping[str, str], cluster_id: ClusterId = ask_cluster_id) -> None:
        self._settings = settings
        self._ask = cluster_id
        self._known: dict[str, str | None] = {}

    def offsets_of(self, ends: Iterable[SourceEnd]) -> dict[TopicPartition, int]:
        """Where the batch ends in the topics of this cluster."""
        found: dict[TopicPartition, int] = {}
        for end in ends:
            if end.offsets and self.has(end.kafka):
                for partition, offset in end.offsets.items():
                    # Of two sources that read a partition, the one that is behind counts.
                    found[partition] = min(offset, found.get(partition, offset))
        return found

    def has(self, settings: Mapping[str, str]) -> bool:
        """Whether a source with these settings reads this cluster."""
        servers = settings.get("bootstrap.servers", "")
        if not servers or servers == self._settings.get("bootstrap.servers"):
            return True
        # A cluster that tells no id is taken for another one: its offsets may not be mixed in.
        here = self._id(self._settings)
        return here is not None and self._id(settings) == here

    def _id(self, settings: Mapping[str, str]) -> str | None:
        servers = settings.get("bootstrap.servers", "")
        if servers not in self._known:
            self._known[servers] = self._ask(settings)
        return self._known[servers]
