"""`headrace topics --describe`: gathers what the cluster knows and prints it in Kafka's lines."""

from __future__ import annotations

import argparse

from headrace.base.uuids import ZERO_UUID, format_uuid
from headrace.cli.output import print_fields, print_json, styled, wants_json
from headrace.cli.topic_description import Description, gather
from headrace.cli.topic_partitions import PartitionState
from headrace.client.blocking import KafkaClient


def describe_topics(client: KafkaClient, args: argparse.Namespace) -> None:
    descriptions = list(gather(client, args))
    live = set(client.refresh().nodes)
    if wants_json(args):
        print_json({"topics": [_as_json(d, args, live) for d in descriptions]})
        return
    for description in descriptions:
        if not _reports(args) and (description.overrides or not args.topics_with_overrides):
            print_fields([topic_line(description)])
        if not args.topics_with_overrides:
            print_fields(
                partition_line(description, partition)
                for partition in description.topic.partitions
                if _is_wanted(description, partition, args, live)
            )


def topic_line(description: Description) -> str:
    topic = description.topic
    topic_id = f"\tTopicId: {format_uuid(topic.topic_id)}" if topic.topic_id != ZERO_UUID else ""
    overrides = ",".join(f"{name}={value}" for name, value in description.overrides.items())
    return (
        f"Topic: {styled(topic.name, 'bold')}{topic_id}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {description.replication_factor(topic.partitions[0])}"
        f"\tConfigs: {overrides}"
    )


def partition_line(description: Description, partition: PartitionState) -> str:
    leader = f"Leader: {partition.leader}" if partition.leader >= 0 else _wrong("Leader: none")
    isr = f"Isr: {_ids(partition.isr)}"
    if len(partition.isr) < description.replication_factor(partition):
        isr = _wrong(isr)
    line = (
        f"\tTopic: {description.topic.name}\tPartition: {partition.index}"
        f"\t{leader}\tReplicas: {_ids(partition.replicas)}\t{isr}"
    )
    if partition.index in description.moves:
        _, adding, removing = description.moves[partition.index]
        line += f"\tAdding Replicas: {_ids(adding)}\tRemoving Replicas: {_ids(removing)}"
    elr = "N/A" if partition.elr is None else _ids(partition.elr)
    last_known = "N/A" if partition.last_known_elr is None else _ids(partition.last_known_elr)
    return f"{line}\tElr: {elr}\tLastKnownElr: {last_known}"


def _wrong(cell: str) -> str:
    return styled(cell, "red")


def _ids(nodes: list[int]) -> str:
    return ",".join(map(str, nodes))


# -------------------------------------------------------------------- which partitions


def _reports(args: argparse.Namespace) -> bool:
    return bool(
        args.under_replicated_partitions
        or args.unavailable_partitions
        or args.under_min_isr_partitions
        or args.at_min_isr_partitions
    )


def _is_wanted(
    description: Description, partition: PartitionState, args: argparse.Namespace, live: set[int]
) -> bool:
    if not _reports(args):
        return True
    min_isr = int(description.configs.get("min.insync.replicas", "1"))
    in_sync = len(partition.isr)
    return (
        (args.under_replicated_partitions and description.replication_factor(partition) > in_sync)
        or (args.unavailable_partitions and partition.leader not in live)
        or (args.under_min_isr_partitions and (partition.leader < 0 or in_sync < min_isr))
        or (args.at_min_isr_partitions and in_sync == min_isr)
    )


def _as_json(
    description: Description, args: argparse.Namespace, live: set[int]
) -> dict[str, object]:
    topic = description.topic
    return {
        "topic": topic.name,
        "topicId": format_uuid(topic.topic_id),
        "partitionCount": len(topic.partitions),
        "replicationFactor": description.replication_factor(topic.partitions[0]),
        "configs": description.overrides,
        "partitions": [
            {
                "partition": partition.index,
                "leader": partition.leader if partition.leader >= 0 else None,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "elr": partition.elr,
                "lastKnownElr": partition.last_known_elr,
            }
            for partition in topic.partitions
            if _is_wanted(description, partition, args, live)
        ],
    }
