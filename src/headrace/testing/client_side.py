"""What a test does with a node besides its own clients: topics, records, groups, transactions.

Everything goes through the protocol, and nothing is imported before a test asks for it.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.client.blocking import KafkaClient
    from headrace.client.groups_describe import GroupDescription
    from headrace.client.leaders import TopicPartition
    from headrace.records.record import Record

_TIMEOUT_S = 10.0


class ClientSide(ABC):
    """The conveniences of `EmbeddedKafka`."""

    @property
    @abstractmethod
    def client(self) -> KafkaClient:
        """A blocking client for plain requests of the protocol."""

    # ---------------------------------------------------------------- topics

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic and return its name; `KafkaError` if that is refused."""
        from headrace.testing.topics import create_topic

        return create_topic(self.client, name, partitions, configs or {})

    def topic(
        self, partitions: int = 1, configs: Mapping[str, str] | None = None, prefix: str = "test"
    ) -> str:
        """Create a topic under a name that nobody else has, and return the name."""
        return self.create_topic(f"{prefix}-{secrets.token_hex(4)}", partitions, configs)

    def delete_topic(self, *names: str) -> None:
        """Delete topics; `KafkaError` for the first that cannot be."""
        from headrace.testing.topics import delete_topics

        delete_topics(self.client, names)

    def topics(self) -> list[str]:
        """The names of all topics but Kafka's own, sorted."""
        from headrace.testing.topics import list_topics

        return list_topics(self.client)

    # ---------------------------------------------------------------- records

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | str | None],
        keys: Sequence[bytes | str | None] | None = None,
    ) -> None:
        """Send values and wait until they are acknowledged; keyed ones by Kafka's partitioner."""
        from headrace.testing.records import produce

        produce(self.client, topic, values, keys)

    def consume(
        self,
        topic: str,
        count: int,
        *,
        isolation: str = "read_uncommitted",
        timeout: float = _TIMEOUT_S,
    ) -> list[Record]:
        """So many records from the beginning, without a group; `TimeoutError` if there are less."""
        from headrace.testing.records import consume

        if isolation not in ("read_uncommitted", "read_committed"):
            raise ValueError(f"isolation is read_uncommitted or read_committed, not {isolation}")
        committed = isolation == "read_committed"
        return consume(self.client, topic, count, read_committed=committed, timeout_s=timeout)

    # ---------------------------------------------------------------- groups and transactions

    def wait_for_group(
        self, group: str, members: int = 1, timeout: float = _TIMEOUT_S
    ) -> GroupDescription:
        """Wait until a group is stable with so many members (empty with 0), and describe it."""
        from headrace.testing.groups import wait_for_group

        return wait_for_group(self.client, group, members, timeout)

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The offset that a group has committed for each `(topic, partition)`."""
        from headrace.testing.groups import committed

        return committed(self.client, group)

    def lag(self, group: str) -> dict[TopicPartition, int]:
        """How far a group is behind the end of each partition that it has committed for."""
        from headrace.testing.groups import lag

        return lag(self.client, group)

    def transactions(self) -> dict[str, str]:
        """The state of each transactional id: `Empty`, `Ongoing`, `CompleteAbort`, ..."""
        from headrace.testing.groups import transactions

        return transactions(self.client)
