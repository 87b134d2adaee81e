"""The broker's own settings, as its handlers need them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Field names follow Kafka's settings."""

    node_id: int = 1
    rack: str | None = None
    cluster_id: str = ""
    auto_create_topics: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    fetch_bytes_max: int = 57_671_680
    fetch_session_slots: int = 1000
    #: `max.request.partition.size.limit`, the most partitions that one describe returns.
    describe_partitions_max: int = 2000
    #: Where clients of a listener shall connect; empty: where they did connect.
    advertised: tuple[tuple[str, str, int], ...] = ()
    #: Listeners on every interface that advertise nothing: no host of theirs is sure to be known.
    without_host: frozenset[str] = frozenset()

    def advertised_address(self, listener: str) -> tuple[str, int] | None:
        """Host and port that were configured for a listener."""
        for name, host, port in self.advertised:
            if name == listener:
                return host, port
        return None
