"""From the options of `headrace storage format` to a plan of what to write."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from headrace.base.uuids import parse_uuid, random_uuid
from headrace.cli.failure import CommandFailedError
from headrace.cli.feature_levels import parse_level, parse_release
from headrace.cli.scram import parse_add_scram
from headrace.client.config import parse_addresses
from headrace.metadata.features import LATEST_METADATA_VERSION, METADATA_VERSION, SCRAM_LEVEL
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import FeatureLevelRecord, UserScramCredentialRecord
from headrace.raft.voters import Voter, VoterSet
from headrace.server.formatting import FormatPlan


def make_plan(
    args: argparse.Namespace,
    settings: dict[str, str],
    directories: list[str],
    metadata_directory: str,
) -> FormatPlan:
    roles = [role.strip() for role in settings.get("process.roles", "").split(",") if role.strip()]
    if not roles:
        raise CommandFailedError(
            "The kafka configuration file appears to be for a legacy cluster."
            " Formatting is only supported for clusters in KRaft mode."
        )
    voters = _voters(args, settings, roles)
    has_static_voters = bool(settings.get("controller.quorum.voters", "").strip())
    if (
        "controller" in roles
        and voters is None
        and not has_static_voters
        and not args.no_initial_controllers
    ):
        raise CommandFailedError(
            "Because controller.quorum.voters is not set on this controller, you must specify one"
            " of the following: --standalone, --initial-controllers, or --no-initial-controllers."
        )
    if has_static_voters and (voters is not None or args.no_initial_controllers):
        raise CommandFailedError(
            "You cannot specify controller.quorum.voters and use one of --standalone,"
            " --initial-controllers, or --no-initial-controllers."
        )
    levels = dict(parse_level(text) for text in args.feature or [])
    version = _metadata_version(args, levels)
    return FormatPlan(
        cluster_id=_cluster_id(args.cluster_id),
        node_id=_node_id(settings),
        directories=directories,
        metadata_directory=metadata_directory,
        metadata_version=version,
        levels=levels,
        voters=voters,
        joins_dynamic_quorum=args.no_initial_controllers,
        records=_scram_records(args.add_scram or [], version),
        ignore_formatted=args.ignore_formatted,
    )


def describe_records(records: Sequence[AnyRecord], metadata_version: int) -> str:
    """The line with which Kafka's storage tool begins."""
    texts = [f"ApiMessageAndVersion({_describe_record(record)} at version 0)" for record in records]
    return (
        f"Bootstrap metadata: BootstrapMetadata(records=[{', '.join(texts)}],"
        f" metadataVersionLevel={metadata_version}, source=format command)"
    )


def _describe_record(record: AnyRecord) -> str:
    if isinstance(record, FeatureLevelRecord):
        return f"FeatureLevelRecord(name='{record.name}', featureLevel={record.feature_level})"
    if isinstance(record, UserScramCredentialRecord):
        # Kafka prints the keys too; they are no business of a terminal or a log.
        return (
            f"UserScramCredentialRecord(name='{record.name}', mechanism={record.mechanism},"
            f" iterations={record.iterations})"
        )
    return repr(record)


def _metadata_version(args: argparse.Namespace, levels: dict[str, int]) -> int:
    if args.release_version is not None:
        if METADATA_VERSION in levels:
            raise CommandFailedError(
                "Use --release-version instead of --feature metadata.version=X to avoid ambiguity."
            )
        return parse_release(args.release_version)
    return levels.get(METADATA_VERSION, LATEST_METADATA_VERSION)


def _cluster_id(text: str) -> str:
    try:
        parse_uuid(text)
    except ValueError:
        raise CommandFailedError(
            f"Cluster ID string {text} does not appear to be a valid UUID:"
            " `headrace storage random-uuid` prints one."
        ) from None
    return text


def _node_id(settings: dict[str, str]) -> int:
    text = settings.get("node.id", "").strip()
    if not text.isdecimal():
        raise CommandFailedError("node.id is missing in the configuration, or is not a number.")
    return int(text)


def _scram_records(arguments: list[str], version: int) -> list[AnyRecord]:
    if arguments and version < SCRAM_LEVEL:
        raise CommandFailedError("SCRAM is only supported in metadata.version 3.5-IV2 or later.")
    credentials = [parse_add_scram(argument) for argument in arguments]
    return [
        UserScramCredentialRecord(
            name=credential.name,
            mechanism=credential.mechanism.number,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
        for credential in credentials
    ]


# -------------------------------------------------------------------- the voters


def _voters(
    args: argparse.Namespace, settings: dict[str, str], roles: list[str]
) -> VoterSet | None:
    listener = settings.get("controller.listener.names", "CONTROLLER").split(",")[0].strip()
    if args.standalone:
        if "controller" not in roles:
            raise CommandFailedError("You can only use --standalone on a controller.")
        host, port = _controller_address(settings, listener)
        voter = Voter(_node_id(settings), random_uuid(), ((listener, host, port),))
        return VoterSet.of([voter])
    if args.initial_controllers:
        entries = args.initial_controllers.split(",")
        return VoterSet.of(_parse_voter(entry.strip(), listener) for entry in entries)
    return None


def _parse_voter(text: str, listener: str) -> Voter:
    """`id@host:port:directory`."""
    node_id, at, rest = text.partition("@")
    address, colon, directory = rest.rpartition(":")
    if not at or not colon or not node_id.isdecimal():
        raise CommandFailedError(
            f"Cannot read the controller {text}: the form is id@host:port:directory."
        )
    ((host, port),) = parse_addresses(address)
    return Voter(int(node_id), parse_uuid(directory), ((listener, host, port),))


def _controller_address(settings: dict[str, str], listener: str) -> tuple[str, int]:
    """Where the controller listens: advertised, else as it is bound."""
    for name in ("advertised.listeners", "listeners"):
        for entry in settings.get(name, "").split(","):
            label, _, address = entry.strip().partition("://")
            host, colon, port = address.rpartition(":")
            if label.upper() == listener.upper() and colon and port.isdecimal():
                return host.strip("[]") or "localhost", int(port)
    raise CommandFailedError("No controller listeners found.")
