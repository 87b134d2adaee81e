"""`headrace cluster`: Kafka's `kafka-cluster.sh`."""

from __future__ import annotations

import argparse

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.connecting import add_bootstrap_server, open_client
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.metadata import BROKERS, CONTROLLERS
from headrace.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    identity = commands.add_parser("cluster-id", help="print the id of the cluster")
    unregister = commands.add_parser("unregister", help="unregister a broker")
    endpoints = commands.add_parser("list-endpoints", help="list the nodes and their addresses")
    for command in (identity, unregister, endpoints):
        group = command.add_mutually_exclusive_group()
        add_bootstrap_server(group, "-b")
        group.add_argument(
            "--bootstrap-controller", "-C", metavar="HOST:PORT,...", help="controllers instead"
        )
        command.add_argument(
            "--command-config", "-c", "--config", metavar="FILE", help="properties file"
        )
        add_output_argument(command)
    unregister.add_argument("--id", "-i", type=int, required=True, help="the broker's id")
    endpoints.add_argument(
        "--include-fenced-brokers", action="store_true", help="also brokers that are fenced"
    )


def run(args: argparse.Namespace) -> int:
    with open_client(args, "headrace-cluster") as client:
        if args.command == "cluster-id":
            _print_id(client, args)
        elif args.command == "unregister":
            _unregister(client, args)
        else:
            _print_endpoints(client, args)
    return 0


def _describe(client: KafkaClient, *, include_fenced: bool = False) -> DescribeClusterResponse:
    kind = CONTROLLERS if client.config.to_controllers else BROKERS
    request = DescribeClusterRequest(endpoint_type=kind, include_fenced_brokers=include_fenced)
    return client.admin(request, DescribeClusterResponse)


def _print_id(client: KafkaClient, args: argparse.Namespace) -> None:
    cluster_id = _describe(client).cluster_id
    if wants_json(args):
        print_json({"clusterId": cluster_id})
    else:
        print(f"Cluster ID: {cluster_id}")


def _unregister(client: KafkaClient, args: argparse.Namespace) -> None:
    from headrace.protocol.messages.unregister_broker import (
        UnregisterBrokerRequest,
        UnregisterBrokerResponse,
    )

    try:
        client.admin(UnregisterBrokerRequest(broker_id=args.id), UnregisterBrokerResponse)
    except KafkaError as error:
        if error.code is not ErrorCode.UNSUPPORTED_VERSION:
            raise
        print("The target cluster does not support the broker unregistration API.")
        return
    print(f"Broker {args.id} is no longer registered.")


def _print_endpoints(client: KafkaClient, args: argparse.Namespace) -> None:
    answer = _describe(client, include_fenced=args.include_fenced_brokers)
    is_controllers = client.config.to_controllers
    rows = []
    for node in sorted(answer.brokers, key=lambda broker: broker.broker_id):
        row = {
            "id": str(node.broker_id),
            "host": node.host,
            "port": str(node.port),
            "rack": node.rack or "null",
            "state": "fenced" if node.is_fenced else "unfenced",
            "endpoint_type": "controller" if is_controllers else "broker",
        }
        if is_controllers:
            del row["state"]
        rows.append(row)
    if wants_json(args):
        print_json({"endpoints": rows})
    else:
        print("\n".join(endpoint_lines(rows, is_controllers)))


def endpoint_lines(rows: list[dict[str, str]], is_controllers: bool) -> list[str]:
    """Kafka's table: the columns of host and rack are as wide as their widest value."""
    racks = [len(row["rack"]) for row in rows if row["rack"] != "null"]
    columns = {
        "id": 10,
        "host": max((len(row["host"]) for row in rows), default=100),
        "port": 10,
        "rack": max(racks, default=10),
        "state": 10,
        "endpoint_type": 15,
    }
    if is_controllers:
        del columns["state"]
    header = {name: name.upper() for name in columns}
    return [
        " ".join(row[name].ljust(width) for name, width in columns.items())
        for row in [header, *rows]
    ]
