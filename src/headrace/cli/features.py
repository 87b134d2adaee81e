"""`headrace features`: Kafka's `kafka-features.sh`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, describe
from headrace.cli.feature_levels import (
    level_text,
    parse_level,
    parse_release,
    print_dependencies,
    print_mapping,
)
from headrace.cli.output import add_output_argument, print_fields, print_json, wants_json
from headrace.client.blocking import KafkaClient
from headrace.metadata.features import FEATURES, METADATA_VERSION

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser, controllers=True)
    add_output_argument(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    show = commands.add_parser("describe", help="show the feature levels")
    show.add_argument("--node-id", type=int, help="ask this node (default: any)")
    for name, what in (("upgrade", "raise"), ("downgrade", "lower")):
        change = commands.add_parser(name, help=f"{what} feature levels")
        change.add_argument("--metadata", help=argparse.SUPPRESS)
        change.add_argument("--release-version", help=f"{what} all to those of a release")
        _add_change_arguments(change, "NAME=LEVEL", unsafe=name == "downgrade")
    disable = commands.add_parser("disable", help="set features to level 0")
    _add_change_arguments(disable, "NAME", unsafe=True)
    mapping = commands.add_parser("version-mapping", help="feature levels of a release")
    mapping.add_argument("--release-version", help="a release (default: the newest)")
    needs = commands.add_parser("feature-dependencies", help="what feature levels need")
    needs.add_argument("--feature", action="append", required=True, metavar="NAME=LEVEL")


def _add_change_arguments(parser: argparse.ArgumentParser, form: str, *, unsafe: bool) -> None:
    parser.add_argument("--feature", action="append", metavar=form, help="a feature; repeatable")
    parser.add_argument("--dry-run", action="store_true", help="only say whether it would do")
    if unsafe:
        parser.add_argument("--unsafe", action="store_true", help="even if metadata may be lost")


def run(args: argparse.Namespace) -> int:
    if args.command == "version-mapping":
        print_mapping(args)
        return 0
    if args.command == "feature-dependencies":
        print_dependencies(args)
        return 0
    with open_client(args, "headrace-features") as client:
        if args.command == "describe":
            _describe(client, args)
        else:
            _update(client, args)
    return 0


def _describe(client: KafkaClient, args: argparse.Namespace) -> None:
    node = client.any_node() if args.node_id is None else client.node(args.node_id)
    answer = node.api_versions
    finalized = {row.name: row.max_version_level for row in answer.finalized_features}
    epoch = str(answer.finalized_features_epoch) if answer.finalized_features_epoch >= 0 else "-"
    rows = []
    for feature in sorted(answer.supported_features, key=lambda row: row.name):
        levels = (feature.min_version, feature.max_version, finalized.get(feature.name, 0))
        texts = [level_text(feature.name, level) for level in levels]
        rows.append(dict(zip(("name", "min", "max", "level"), (feature.name, *texts), strict=True)))
    if wants_json(args):
        print_json({"features": rows, "epoch": epoch})
        return
    lines = [
        f"Feature: {row['name']:<40}  SupportedMinVersion: {row['min']:<15}"
        f"  SupportedMaxVersion: {row['max']:<15}"
        f"  FinalizedVersionLevel: {row['level']:<15}  Epoch: {epoch}"
        for row in rows
    ]
    print_fields(lines, separator="  +")


def _update(client: KafkaClient, args: argparse.Namespace) -> None:
    from headrace.protocol.messages.update_features import (
        FeatureUpdateKey,
        UpdateFeaturesRequest,
        UpdateFeaturesResponse,
    )

    levels = requested_levels(args)
    if not levels:
        raise CommandFailedError(f"You must specify at least one feature to {args.command}")
    kind = upgrade_type(args)
    request = UpdateFeaturesRequest(
        timeout_ms=client.config.request_timeout_ms,
        feature_updates=[
            FeatureUpdateKey(
                feature=name,
                max_version_level=level,
                upgrade_type=kind,
                allow_downgrade=kind != UPGRADE,
            )
            for name, level in levels.items()
        ],
        validate_only=args.dry_run,
    )
    errors: dict[str, str] = {}
    try:
        answer = client.admin(request, UpdateFeaturesResponse)
    except KafkaError as error:
        if error.code is ErrorCode.NETWORK_EXCEPTION:
            raise
        errors = dict.fromkeys(levels, describe(error))
    else:
        for row in answer.results:  # each feature on its own, before version 2
            if row.error_code:
                errors[row.feature] = row.error_message or ErrorCode(row.error_code).name
    for name in sorted(levels):
        print(outcome_text(args, name, levels[name], errors.get(name)))
    if errors:
        raise CommandFailedError(f"{len(errors)} out of {len(levels)} operation(s) failed.")


def upgrade_type(args: argparse.Namespace) -> int:
    if args.command == "upgrade":
        return UPGRADE
    return UNSAFE_DOWNGRADE if args.unsafe else SAFE_DOWNGRADE


def requested_levels(args: argparse.Namespace) -> dict[str, int]:
    """The level asked for, by feature."""
    texts = args.feature or []
    if args.command == "disable":
        return _once((text, 0) for text in texts)
    if args.release_version is not None:
        if texts or args.metadata is not None:
            raise CommandFailedError("Can not specify `release-version` with other feature flags.")
        version = parse_release(args.release_version)
        defaults = {name: feature.default_level(version) for name, feature in FEATURES.items()}
        is_upgrade = args.command == "upgrade"
        wanted = {name: level for name, level in defaults.items() if level or not is_upgrade}
        return {METADATA_VERSION: version} | wanted
    pairs = [parse_level(text) for text in texts]
    if args.metadata is not None:
        pairs.insert(0, (METADATA_VERSION, parse_release(args.metadata)))
    return _once(pairs)


def _once(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for name, level in pairs:
        if name in levels:
            raise CommandFailedError(f"Feature {name} was specified more than once.")
        levels[name] = level
    return levels


def outcome_text(args: argparse.Namespace, name: str, level: int, error: str | None) -> str:
    """Kafka's sentence on one feature."""
    what = args.command
    if error is not None:
        could = "Can not" if args.dry_run else "Could not"
        target = f"disable {name}" if what == "disable" else f"{what} {name} to {level}"
        return f"{could} {target}. {error}"
    verb = "can be" if args.dry_run else "was"
    done = "disabled." if what == "disable" else f"{what}d to {level}."
    return f"{name} {verb} {done}"
