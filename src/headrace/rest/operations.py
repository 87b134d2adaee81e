"""Everything the proxy does: the one table from which routes and the OpenAPI description come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.rest.v2 import consumers, topics
from headrace.rest.v2 import produce as produce_v2
from headrace.rest.v2.consumers import on_instance
from headrace.rest.v3 import clusters, groups, lags, partitions, replicas
from headrace.rest.v3 import produce as produce_v3
from headrace.rest.v3 import topics as topics_v3
from headrace.rest.v3.configs import BROKER, TOPIC


class Operation(NamedTuple):
    """A method on a path; `body` names a schema of the OpenAPI description, `query` numbers."""

    method: str
    path: str
    handler: Callable[..., Any]
    summary: str
    body: str = ""
    query: tuple[str, ...] = ()


_INSTANCE = "/consumers/{group}/instances/{instance}"
_CLUSTER = "/v3/clusters/{cluster_id}"
_TOPIC = _CLUSTER + "/topics/{topic_name}"
_PARTITION = _TOPIC + "/partitions/{partition_id}"
_BROKER = _CLUSTER + "/brokers/{broker_id}"
_GROUP = _CLUSTER + "/consumer-groups/{group_id}"
_CONSUMER = _GROUP + "/consumers/{consumer_id}"

V2_OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/topics", topics.list_topics, "List topics"),
    Operation("GET", "/topics/{topic}", topics.get_topic, "Describe a topic"),
    Operation("POST", "/topics/{topic}", produce_v2.produce, "Produce to a topic", "Records"),
    Operation("GET", "/topics/{topic}/partitions", topics.list_partitions, "List partitions"),
    Operation(
        "GET", "/topics/{topic}/partitions/{partition}", topics.get_partition, "Describe one"
    ),
    Operation(
        "POST",
        "/topics/{topic}/partitions/{partition}",
        produce_v2.produce,
        "Produce to a partition",
        "Records",
    ),
    Operation(
        "GET",
        "/topics/{topic}/partitions/{partition}/offsets",
        topics.get_offsets,
        "Where a partition begins and ends",
    ),
    Operation("GET", "/brokers", topics.list_brokers, "List brokers"),
    Operation(
        "POST", "/consumers/{group}", consumers.create, "Create a consumer instance", "Instance"
    ),
    Operation("DELETE", _INSTANCE, on_instance(consumers.delete), "Delete an instance"),
    Operation(
        "POST",
        _INSTANCE + "/subscription",
        on_instance(consumers.subscribe, needs_body=True),
        "Subscribe to topics",
        "Subscription",
    ),
    Operation(
        "GET", _INSTANCE + "/subscription", on_instance(consumers.subscription), "Its topics"
    ),
    Operation(
        "DELETE", _INSTANCE + "/subscription", on_instance(consumers.unsubscribe), "Unsubscribe"
    ),
    Operation(
        "POST",
        _INSTANCE + "/assignments",
        on_instance(consumers.assign, needs_body=True),
        "Assign partitions",
        "Partitions",
    ),
    Operation(
        "GET", _INSTANCE + "/assignments", on_instance(consumers.assignment), "Its partitions"
    ),
    Operation(
        "POST",
        _INSTANCE + "/positions",
        on_instance(consumers.seek, needs_body=True),
        "Go to offsets or times",
        "Positions",
    ),
    Operation(
        "POST",
        _INSTANCE + "/positions/beginning",
        on_instance(consumers.seek_to_beginning, needs_body=True),
        "Go to the beginning",
        "Partitions",
    ),
    Operation(
        "POST",
        _INSTANCE + "/positions/end",
        on_instance(consumers.seek_to_end, needs_body=True),
        "Go to the end",
        "Partitions",
    ),
    Operation(
        "POST", _INSTANCE + "/offsets", on_instance(consumers.commit), "Commit offsets", "Offsets"
    ),
    Operation("GET", _INSTANCE + "/offsets", on_instance(consumers.committed), "Committed offsets"),
    Operation(
        "GET",
        _INSTANCE + "/records",
        on_instance(consumers.records),
        "Fetch records",
        query=("timeout", "max_bytes"),
    ),
)

V3_OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/v3/clusters", clusters.list_clusters, "List clusters"),
    Operation("GET", _CLUSTER, clusters.get_cluster, "Describe the cluster"),
    Operation("GET", _CLUSTER + "/brokers", clusters.list_brokers, "List brokers"),
    Operation("GET", _BROKER, clusters.get_broker, "Describe a broker"),
    Operation(
        "GET",
        _BROKER + "/partition-replicas",
        replicas.list_replicas_of_broker,
        "List a broker's replicas",
    ),
    Operation("GET", _BROKER + "/configs", BROKER.list_all, "List a broker's settings"),
    Operation("POST", _BROKER + "/configs:alter", BROKER.alter, "Change several", "ConfigChanges"),
    Operation("GET", _BROKER + "/configs/{name}", BROKER.get, "Get a broker's setting"),
    Operation("PUT", _BROKER + "/configs/{name}", BROKER.update, "Set it", "ConfigValue"),
    Operation("DELETE", _BROKER + "/configs/{name}", BROKER.reset, "Reset it"),
    Operation("GET", _CLUSTER + "/topics", topics_v3.list_topics, "List topics"),
    Operation("POST", _CLUSTER + "/topics", topics_v3.create_topic, "Create a topic", "NewTopic"),
    Operation("GET", _TOPIC, topics_v3.get_topic, "Describe a topic"),
    Operation("PATCH", _TOPIC, topics_v3.update_partitions, "Add partitions", "PartitionsCount"),
    Operation("DELETE", _TOPIC, topics_v3.delete_topic, "Delete a topic"),
    Operation("GET", _TOPIC + "/configs", TOPIC.list_all, "List a topic's settings"),
    Operation("POST", _TOPIC + "/configs:alter", TOPIC.alter, "Change several", "ConfigChanges"),
    Operation("GET", _TOPIC + "/configs/{name}", TOPIC.get, "Get a topic's setting"),
    Operation("PUT", _TOPIC + "/configs/{name}", TOPIC.update, "Set it", "ConfigValue"),
    Operation("DELETE", _TOPIC + "/configs/{name}", TOPIC.reset, "Reset it"),
    Operation("GET", _TOPIC + "/partitions", partitions.list_partitions, "List partitions"),
    Operation("GET", _PARTITION, partitions.get_partition, "Describe a partition"),
    Operation("GET", _PARTITION + "/offset", partitions.get_offsets, "Where it begins and ends"),
    Operation("GET", _PARTITION + "/replicas", replicas.list_replicas, "List replicas"),
    Operation("GET", _PARTITION + "/replicas/{broker_id}", replicas.get_replica, "Describe one"),
    Operation(
        "POST", _TOPIC + "/records", produce_v3.produce, "Produce a stream of records", "Record"
    ),
    Operation("GET", _CLUSTER + "/consumer-groups", groups.list_groups, "List consumer groups"),
    Operation("GET", _GROUP, groups.get_group, "Describe a consumer group"),
    Operation("GET", _GROUP + "/consumers", groups.list_consumers, "List its members"),
    Operation("GET", _CONSUMER, groups.get_consumer, "Describe a member"),
    Operation("GET", _CONSUMER + "/assignments", groups.list_assignments, "Its partitions"),
    Operation(
        "GET",
        _CONSUMER + "/assignments/{topic_name}/partitions/{partition_id}",
        groups.get_assignment,
        "One of them",
    ),
    Operation("GET", _GROUP + "/lag-summary", lags.lag_summary, "How far it is behind"),
    Operation("GET", _GROUP + "/lags", lags.list_lags, "Lag by partition"),
    Operation(
        "GET",
        _GROUP + "/lags/{topic_name}/partitions/{partition_id}",
        lags.get_lag,
        "Lag of one partition",
    ),
)
