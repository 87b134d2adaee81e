"""`headrace leader-election`: Kafka's `kafka-leader-election.sh`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.connecting import add_bootstrap_server, open_client
from headrace.cli.consumer_groups_errors import java_text
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.errors import error_for_code
from headrace.client.leaders import TopicPartition
from headrace.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)

_TYPES = {"preferred": 0, "unclean": 1}
_TIMEOUT_MS = 30_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser)
    add_output_argument(parser)
    add = parser.add_argument
    add(
        "--election-type",
        required=True,
        type=str.lower,
        choices=tuple(_TYPES),
        help="preferred: the first replica shall lead again; unclean: any replica, also one that"
        " lacks records, where there is no leader",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--topic", help="the topic of one partition")
    which.add_argument(
        "--path-to-json-file",
        metavar="FILE",
        help='many partitions: {"partitions": [{"topic": "foo", "partition": 1}]}',
    )
    which.add_argument(
        "--all-topic-partitions", action="store_true", help="every partition that needs it"
    )
    add("--partition", type=int, help="the partition of --topic")
    add("--command-config", "--admin.config", metavar="FILE", help="properties file")


def run(args: argparse.Namespace) -> int:
    wanted = _wanted(args)
    with open_client(args, "headrace-leader-election") as client:
        outcomes = elect(client, _TYPES[args.election_type], wanted)
    if wants_json(args):
        print_json(_as_json(outcomes))
    else:
        _tell(outcomes, args.election_type.upper())
    failed = [error for error in outcomes.values() if error is not None and not _is_fine(error)]
    if failed:
        raise CommandFailedError(f"{len(failed)} replica(s) could not be elected")
    return 0


def _wanted(args: argparse.Namespace) -> list[TopicPartition] | None:
    """The partitions that the options name; None for all."""
    if args.topic is not None:
        if args.partition is None:
            raise UsageError("Missing required option(s): partition")
        return [(args.topic, args.partition)]
    if args.partition is not None:
        raise UsageError("Option partition is only allowed if topic is used")
    if args.path_to_json_file is not None:
        return read_partitions(args.path_to_json_file)
    if not args.all_topic_partitions:
        raise UsageError(
            "One and only one of the following options is required:"
            " topic, all-topic-partitions, path-to-json-file"
        )
    return None


def read_partitions(path: str) -> list[TopicPartition]:
    """The partitions that a file lists."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        rows = [(str(row["topic"]), int(row["partition"])) for row in data["partitions"]]
    except OSError as error:
        raise CommandFailedError(f"{path}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise CommandFailedError(
            f'{path} does not look like {{"partitions": [{{"topic": "foo", "partition": 1}}]}}.'
        ) from error
    twice = sorted({row for row in rows if rows.count(row) > 1})
    if twice:
        names = ", ".join(f"{topic}-{index}" for topic, index in twice)
        raise CommandFailedError(f"Replica election data contains duplicate partitions: [{names}]")
    return rows


def elect(
    client: KafkaClient, election_type: int, wanted: list[TopicPartition] | None
) -> dict[TopicPartition, KafkaError | None]:
    """What became of each partition, None where a leader was elected."""
    topics: dict[str, list[int]] = {}
    for topic, index in wanted or ():
        topics.setdefault(topic, []).append(index)
    request = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=None
        if wanted is None
        else [TopicPartitions(topic=name, partitions=rows) for name, rows in topics.items()],
        timeout_ms=_TIMEOUT_MS,
    )
    answer = client.admin(request, ElectLeadersResponse)
    return {
        (topic.topic, row.partition_id): error_for_code(row.error_code, row.error_message)
        if row.error_code
        else None
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }


def _is_fine(error: KafkaError) -> bool:
    return error.code is ErrorCode.ELECTION_NOT_NEEDED


def _tell(outcomes: dict[TopicPartition, KafkaError | None], kind: str) -> None:
    elected = [_name(p) for p, error in outcomes.items() if error is None]
    fine = [_name(p) for p, error in outcomes.items() if error is not None and _is_fine(error)]
    if elected:
        names = ", ".join(elected)
        print(f"Successfully completed leader election ({kind}) for partitions {names}")
    if fine:
        print(f"Valid replica already elected for partitions {', '.join(fine)}")
    for partition, error in outcomes.items():
        if error is not None and not _is_fine(error):
            print(
                f"Error completing leader election ({kind}) for partition:"
                f" {_name(partition)}: {java_text(error)}"
            )


def _as_json(outcomes: dict[TopicPartition, KafkaError | None]) -> dict[str, Any]:
    rows = [
        {"topic": topic, "partition": index, "error": error and error.code.name}
        for (topic, index), error in outcomes.items()
    ]
    return {"partitions": rows}


def _name(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"
