"""The topics of the order example, and what their records look like.

    python -m examples.orders.topics        # creates them, and registers their schemas

Every value is Avro with a schema of the directory `schemas`, kept in the schema registry.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.serde.deserializer import Deserializer
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Schema
from headrace.serde.serializer import Serializer

#: Every state an order was in; only the orders service writes here.
ORDERS = "orders"
#: PASS or FAIL of each check.
VALIDATIONS = "order-validations"
#: What the aggregator made of the three checks.
DECISIONS = "order-decisions"
#: Sales per minute, by product and in all: the latest figure of a key is the right one.
SALES = "sales"
#: Valid orders that came too late for the minute they belong to.
LATE_ORDERS = "late-orders"

SCHEMAS = {
    ORDERS: "order",
    VALIDATIONS: "validation",
    DECISIONS: "decision",
    SALES: "sales",
    LATE_ORDERS: "order",
}
COMPACTED = {SALES}
PARTITIONS = 2


def schema(name: str) -> Schema:
    return Schema((Path(__file__).parent / "schemas" / f"{name}.avsc").read_text())


class Values:
    """Values of the example's topics: Python dictionaries here, Avro there."""

    def __init__(self, registry_url: str) -> None:
        self._registry = RegistryClient.from_settings({"schema.registry.url": registry_url})
        self._serializers = {
            topic: Serializer(self._registry, schema(name)) for topic, name in SCHEMAS.items()
        }
        self.decode = Deserializer(self._registry)

    def close(self) -> None:
        self._registry.close()

    def register(self) -> None:
        """Make the schemas known before the first record is written."""
        for topic, serializer in self._serializers.items():
            serializer.writer(topic)

    def encode(self, topic: str, value: dict[str, Any]) -> bytes:
        data = self._serializers[topic](topic, value)
        assert data is not None
        return data


def create_topics(bootstrap_servers: str) -> None:
    """Those that are not there yet."""
    topics = [
        NewTopic(
            topic,
            num_partitions=PARTITIONS,
            config={"cleanup.policy": "compact"} if topic in COMPACTED else {},
        )
        for topic in SCHEMAS
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for created in admin.create_topics(topics).values():
        try:
            created.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def arguments(description: str | None) -> argparse.ArgumentParser:
    """What every program of the example takes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bootstrap-server", default="localhost:9092", metavar="HOST:PORT")
    parser.add_argument("--registry", default="http://localhost:8081", metavar="URL")
    return parser


def main() -> None:
    args = arguments(__doc__).parse_args()
    create_topics(args.bootstrap_server)
    Values(args.registry).register()
    print("\n".join(SCHEMAS))


if __name__ == "__main__":
    main()
