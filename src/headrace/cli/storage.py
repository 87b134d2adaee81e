"""`headrace storage`: Kafka's `kafka-storage.sh`."""

from __future__ import annotations

import argparse
import os
import time

from headrace.cli.failure import CommandFailedError
from headrace.cli.output import add_output_argument, print_json, wants_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="what the data directories of a node hold")
    form = commands.add_parser("format", help="format the data directories of a node")
    mapping = commands.add_parser("version-mapping", help="feature levels of a release")
    needs = commands.add_parser("feature-dependencies", help="what feature levels need")
    uuid = commands.add_parser("random-uuid", help="print a random UUID, for a cluster id")
    for command in (info, mapping, needs, uuid):
        add_output_argument(command)
    for command in (info, form):
        command.add_argument("--config", "-c", required=True, help="the server.properties file")
    for command in (form, mapping):
        command.add_argument("--release-version", "-r", help="a release, for instance 4.3-IV0")
    _add_format_arguments(form)
    needs.add_argument(
        "--feature", "-f", action="append", required=True, metavar="NAME=LEVEL", help="repeatable"
    )


def _add_format_arguments(form: argparse.ArgumentParser) -> None:
    add = form.add_argument
    cluster_id = os.environ.get("CLUSTER_ID") or None  # as Kafka's images call it
    add(
        "--cluster-id",
        "-t",
        default=cluster_id,
        required=cluster_id is None,
        help="the cluster's id (see random-uuid; default: the variable CLUSTER_ID)",
    )
    add("--ignore-formatted", "-g", action="store_true", help="pass over formatted directories")
    add(
        "--add-scram",
        "-S",
        action="append",
        metavar="CREDENTIAL",
        help="for instance 'SCRAM-SHA-256=[name=alice,password=secret]'; repeatable",
    )
    add("--feature", "-f", action="append", metavar="NAME=LEVEL", help="a level; repeatable")
    quorum = form.add_mutually_exclusive_group()
    quorum.add_argument(
        "--standalone", "-s", action="store_true", help="this controller alone, as a dynamic quorum"
    )
    quorum.add_argument(
        "--no-initial-controllers", "-N", action="store_true", help="will join a dynamic quorum"
    )
    quorum.add_argument(
        "--initial-controllers",
        "-I",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="the voters of a dynamic quorum; the same on all nodes",
    )


def run(args: argparse.Namespace) -> int:
    if args.command == "random-uuid":
        from headrace.base.uuids import format_uuid, random_uuid

        uuid = format_uuid(random_uuid())
        if wants_json(args):
            print_json({"uuid": uuid})
        else:
            print(uuid)
        return 0
    if args.command in ("version-mapping", "feature-dependencies"):
        from headrace.cli.feature_levels import print_dependencies, print_mapping

        if args.command == "version-mapping":
            print_mapping(args)
        else:
            print_dependencies(args)
        return 0
    settings = load_settings(args.config)
    if args.command == "info":
        from headrace.cli.storage_info import print_info

        return print_info(data_directories(settings), as_json=wants_json(args))
    return _format(args, settings)


def load_settings(path: str) -> dict[str, str]:
    """The file's settings, overridden by `KAFKA_*` variables as when the node starts."""
    from headrace.base.errors import KafkaError
    from headrace.server.properties import load_properties

    try:
        return load_properties(path, environment=os.environ).values
    except KafkaError as error:
        raise CommandFailedError(error.message) from error


def data_directories(settings: dict[str, str]) -> list[str]:
    """`log.dirs`, else `log.dir`, with the metadata directory if it stands apart."""
    text = settings.get("log.dirs") or settings.get("log.dir")
    if not text:
        from headrace.base.settings.broker import BROKER_SETTINGS

        text = BROKER_SETTINGS["log.dir"].default_text or ""
    directories = [os.path.abspath(part.strip()) for part in text.split(",") if part.strip()]
    metadata = metadata_directory(settings, directories)
    return list(dict.fromkeys([*directories, metadata]))


def metadata_directory(settings: dict[str, str], directories: list[str]) -> str:
    given = settings.get("metadata.log.dir", "").strip()
    return os.path.abspath(given) if given else directories[0]


def _format(args: argparse.Namespace, settings: dict[str, str]) -> int:
    from headrace.cli.storage_plan import describe_records, make_plan
    from headrace.server.formatting import FormatError, first_records, format_storage, unformatted

    directories = data_directories(settings)
    try:
        plan = make_plan(args, settings, directories, metadata_directory(settings, directories))
        if unformatted(plan):
            print(describe_records(first_records(plan), plan.metadata_version))
        format_storage(
            plan,
            now_ms=time.time_ns() // 1_000_000,
            written=time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime()),
            say=print,
        )
    except (FormatError, ValueError) as error:
        raise CommandFailedError(str(error)) from error
    return 0
