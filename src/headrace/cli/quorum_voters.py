"""`headrace metadata-quorum add-controller` and `remove-controller` (KIP-853)."""

from __future__ import annotations

import argparse

from headrace.base.uuids import format_uuid, parse_uuid
from headrace.cli.connecting import open_client, read_command_config
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.log.meta_properties import read_meta_properties


def change_voters(args: argparse.Namespace) -> int:
    if args.command == "add-controller":
        return _add(args)
    return _remove(args)


def _add(args: argparse.Namespace) -> int:
    from headrace.protocol.messages.add_raft_voter import (
        AddRaftVoterRequest,
        AddRaftVoterResponse,
        Listener,
    )

    if args.command_config is None:
        raise UsageError(
            "You must supply the configuration file of the controller you are adding when using"
            " add-controller."
        )
    settings = read_command_config(args.command_config)
    node_id = controller_id(settings)
    directory_id = _directory_id(settings)
    endpoints = controller_endpoints(settings)
    if not args.dry_run:
        request = AddRaftVoterRequest(
            cluster_id=None,
            timeout_ms=30_000,
            voter_id=node_id,
            voter_directory_id=directory_id,
            listeners=[Listener(name=name, host=host, port=port) for name, host, port in endpoints],
        )
        with open_client(args, "headrace-metadata-quorum") as client:
            client.admin(request, AddRaftVoterResponse)
    text = ", ".join(f"{name}://{host}:{port}" for name, host, port in endpoints)
    done = "DRY RUN of adding" if args.dry_run else "Added"
    print(
        f"{done} controller {node_id} with directory id {format_uuid(directory_id)}"
        f" and endpoints: {text}"
    )
    return 0


def _remove(args: argparse.Namespace) -> int:
    from headrace.protocol.messages.remove_raft_voter import (
        RemoveRaftVoterRequest,
        RemoveRaftVoterResponse,
    )

    try:
        directory_id = parse_uuid(args.controller_directory_id)
    except ValueError as error:
        raise CommandFailedError(f"Failed to parse --controller-directory-id: {error}") from error
    if args.controller_id < 0:
        raise CommandFailedError(f"Invalid negative --controller-id: {args.controller_id}")
    if not args.dry_run:
        request = RemoveRaftVoterRequest(
            cluster_id=None, voter_id=args.controller_id, voter_directory_id=directory_id
        )
        with open_client(args, "headrace-metadata-quorum") as client:
            client.admin(request, RemoveRaftVoterResponse)
    done = "DRY RUN of removing " if args.dry_run else "Removed "
    print(
        f"{done} KRaft controller {args.controller_id} with directory id"
        f" {format_uuid(directory_id)}"
    )
    return 0


def controller_id(settings: dict[str, str]) -> int:
    hint = "Is this a valid controller configuration file?"
    text = settings.get("node.id", "")
    if not text.isdecimal():
        raise CommandFailedError(f"node.id not found in configuration file. {hint}")
    if "controller" not in settings.get("process.roles", ""):
        raise CommandFailedError(
            f"process.roles did not contain 'controller' in configuration file. {hint}"
        )
    return int(text)


def _directory_id(settings: dict[str, str]) -> bytes:
    first = settings.get("log.dirs", "").split(",")[0].strip()
    directory = settings.get("metadata.log.dir") or first
    if not directory:
        raise CommandFailedError(
            "Neither metadata.log.dir nor log.dirs were found."
            " Is this a valid controller configuration file?"
        )
    properties = read_meta_properties(directory)
    if properties is None:
        raise CommandFailedError(f"Unable to read meta.properties from {directory}")
    if properties.directory_id is None:
        raise CommandFailedError(f"No directory id found in {directory}")
    return properties.directory_id


def controller_endpoints(settings: dict[str, str]) -> list[tuple[str, str, int]]:
    """Name, host and port of each controller listener, advertised where that is set."""
    addresses: dict[str, tuple[str, int]] = {}
    for setting in ("listeners", "advertised.listeners"):
        for entry in filter(None, settings.get(setting, "").split(",")):
            name, _, address = entry.strip().partition("://")
            host, _, port = address.rpartition(":")
            if port.isdecimal():
                addresses[name.upper()] = (host.strip("[]") or "localhost", int(port))
    names = settings.get("controller.listener.names", "")
    if not names:
        raise CommandFailedError(
            "controller.listener.names was not found."
            " Is this a valid controller configuration file?"
        )
    endpoints = []
    for name in (part.strip().upper() for part in names.split(",")):
        if name not in addresses:
            raise CommandFailedError(
                f"Cannot find information about controller listener name: {name}"
            )
        endpoints.append((name, *addresses[name]))
    return endpoints
