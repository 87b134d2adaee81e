"""`headrace broker-api-versions`: Kafka's `kafka-broker-api-versions.sh`."""

from __future__ import annotations

import argparse

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import describe
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.client.metadata import NodeAddress
from headrace.client.versions import NodeVersions
from headrace.protocol.apis import ApiKey, api_name, message_classes

#: APIs that only nodes use among themselves, so a client's view leaves them out.
_NOT_FOR_CLIENTS = frozenset(
    {
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ALTER_PARTITION,
        ApiKey.ENVELOPE,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_RAFT_VOTER,
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_argument(parser)


def run(args: argparse.Namespace) -> int:
    document = []
    with open_client(args, "admin-1") as client:
        for node_id, address in client.refresh().nodes.items():
            try:
                versions = client.node(node_id).versions
            except KafkaError as error:
                document.append({"node": node_id, "error": describe(error)})
                if not wants_json(args):
                    print(f"{address} -> ERROR: {describe(error)}")
                continue
            document.append({"node": node_id, "apis": _as_json(versions)})
            if not wants_json(args):
                print(node_text(address, versions))
    if wants_json(args):
        print_json({"brokers": document})
    return 0


def node_text(address: NodeAddress, versions: NodeVersions) -> str:
    lines = {key: api_text(key, low, high) for key, (low, high) in versions.served.items()}
    for api in ApiKey:
        if api not in lines and api not in _NOT_FOR_CLIENTS:
            lines[api] = f"{api_name(api)}({api.value}): UNSUPPORTED"
    body = ",\n\t".join(lines[key] for key in sorted(lines))
    return f"{address} -> (\n\t{body}\n)"


def api_text(key: int, low: int, high: int) -> str:
    """One API: what the node serves, and which version we would use."""
    served = str(low) if low == high else f"{low} to {high}"
    if key not in ApiKey.__members__.values():
        return f"UNKNOWN({key}): {served}"
    api = ApiKey(key)
    ours = message_classes(api)[0].versions
    newest = high if ours.high is None else min(ours.high, high)
    if ours.high is not None and ours.high < low:
        usable = "unusable: node too new"
    elif high < ours.low:
        usable = "unusable: node too old"
    else:
        usable = f"usable: {newest}"
    return f"{api_name(api)}({key}): {served} [{usable}]"


def _as_json(versions: NodeVersions) -> list[dict[str, object]]:
    return [
        {
            "key": key,
            "name": api_name(ApiKey(key)) if key in ApiKey.__members__.values() else "UNKNOWN",
            "minVersion": low,
            "maxVersion": high,
        }
        for key, (low, high) in sorted(versions.served.items())
    ]
