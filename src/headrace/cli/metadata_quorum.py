"""`headrace metadata-quorum`: Kafka's `kafka-metadata-quorum.sh`."""

from __future__ import annotations

import argparse
import time

from headrace.base.uuids import ZERO_UUID, format_uuid
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import (
    add_output_argument,
    pad_columns,
    print_json,
    print_with_heading,
    styled,
    wants_json,
)
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    ResponsePartitionData,
    TopicData,
)

_TOPIC = "__cluster_metadata"
_COLUMNS = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser, controllers=True)
    add_output_argument(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    show = commands.add_parser("describe", help="describe the metadata quorum")
    show.add_argument("--status", action="store_true", help="a short summary")
    show.add_argument("--replication", action="store_true", help="how far each replica is")
    show.add_argument("--human-readable", action="store_true", help="times as time passed")
    add = commands.add_parser("add-controller", help="add a controller to the quorum")
    add.add_argument("--dry-run", action="store_true", help="only say what would be done")
    remove = commands.add_parser("remove-controller", help="remove a controller")
    remove.add_argument("--controller-id", "-i", type=int, required=True, help="its node id")
    remove.add_argument("--controller-directory-id", "-d", required=True, help="its directory's id")
    remove.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: argparse.Namespace) -> int:
    if args.command != "describe":
        from headrace.cli.quorum_voters import change_voters

        return change_voters(args)
    if args.status and args.replication:
        raise UsageError(
            "Only one of --status or --replication should be specified with describe sub-command"
        )
    if args.status and args.human_readable:
        raise UsageError("The option --human-readable is only supported along with --replication")
    if not args.status and not args.replication:
        raise UsageError(
            "One of --status or --replication must be specified with describe sub-command"
        )
    with open_client(args, "headrace-metadata-quorum") as client:
        answer, quorum = _ask(client)
        cluster_id = client.cluster().cluster_id if args.status else None
    if args.status:
        _print_status(args, cluster_id or "", answer, quorum)
    else:
        _print_replication(args, quorum)
    return 0


def _ask(client: KafkaClient) -> tuple[DescribeQuorumResponse, ResponsePartitionData]:
    request = DescribeQuorumRequest(
        topics=[TopicData(topic_name=_TOPIC, partitions=[PartitionData(partition_index=0)])]
    )
    found: list[ResponsePartitionData] = []

    def check(response: DescribeQuorumResponse) -> None:
        found[:] = [row for topic in response.topics for row in topic.partitions]
        for row in found:
            raise_for_code(row.error_code, row.error_message)

    answer = client.admin(request, DescribeQuorumResponse, check=check)
    if not found:
        raise CommandFailedError("The answer says nothing about the metadata quorum.")
    return answer, found[0]


def _leader(quorum: ResponsePartitionData) -> ReplicaState:
    for voter in quorum.current_voters:
        if voter.replica_id == quorum.leader_id:
            return voter
    raise CommandFailedError("The metadata quorum has no leader now.")


# -------------------------------------------------------------------- --status


def _print_status(
    args: argparse.Namespace,
    cluster_id: str,
    answer: DescribeQuorumResponse,
    quorum: ResponsePartitionData,
) -> None:
    leader = _leader(quorum)
    last = min(quorum.current_voters, key=lambda voter: voter.log_end_offset)
    rows = {
        "ClusterId": cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": leader.log_end_offset - last.log_end_offset,
        "MaxFollowerLagTimeMs": _lag_ms(leader, last),
    }
    voters = [_node(answer, voter) for voter in quorum.current_voters]
    observers = [_node(answer, observer) for observer in quorum.observers]
    if wants_json(args):
        print_json({**rows, "CurrentVoters": voters, "CurrentObservers": observers})
        return
    texts = {
        **rows,
        "CurrentVoters": f"[{', '.join(map(node_text, voters))}]",
        "CurrentObservers": f"[{', '.join(map(node_text, observers))}]",
    }
    for name, text in texts.items():
        print(styled(f"{name + ':':<24}", "bold") + str(text))


def _lag_ms(leader: ReplicaState, last: ReplicaState) -> int:
    if last is leader:
        return 0
    if leader.last_caught_up_timestamp < 0 or last.last_caught_up_timestamp < 0:
        return -1
    return leader.last_caught_up_timestamp - last.last_caught_up_timestamp


def _node(answer: DescribeQuorumResponse, replica: ReplicaState) -> dict[str, object]:
    directory = replica.replica_directory_id
    endpoints = [
        f"{listener.name}://{listener.host}:{listener.port}"
        for node in answer.nodes
        if node.node_id == replica.replica_id
        for listener in node.listeners
    ]
    node: dict[str, object] = {"id": replica.replica_id}
    if directory != ZERO_UUID:  # voters of a static quorum have none
        node["directoryId"] = format_uuid(directory)
    return {**node, "endpoints": endpoints} if endpoints else node


def node_text(node: dict[str, object]) -> str:
    """As Kafka writes it: JSON with a blank after each colon and comma."""
    import json

    return json.dumps(node)


# -------------------------------------------------------------------- --replication


def _print_replication(args: argparse.Namespace, quorum: ResponsePartitionData) -> None:
    leader = _leader(quorum)
    followers = [v for v in quorum.current_voters if v is not leader]
    rows = []
    for status, replicas in (
        ("Leader", [leader]),
        ("Follower", followers),
        ("Observer", quorum.observers),
    ):
        rows += [_row(leader, replica, status, args.human_readable) for replica in replicas]
    if wants_json(args):
        print_json({"replicas": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]})
    else:
        print_with_heading(pad_columns(_COLUMNS, rows))


def _row(
    leader: ReplicaState, replica: ReplicaState, status: str, human_readable: bool
) -> list[str]:
    return [
        str(replica.replica_id),
        format_uuid(replica.replica_directory_id),
        str(replica.log_end_offset),
        str(leader.log_end_offset - replica.log_end_offset),
        _time(replica.last_fetch_timestamp, human_readable),
        _time(replica.last_caught_up_timestamp, human_readable),
        status,
    ]


def _time(timestamp: int, human_readable: bool) -> str:
    if timestamp < 0 or not human_readable:
        return str(timestamp)
    return f"{max(time.time_ns() // 1_000_000 - timestamp, 0)} ms ago"
