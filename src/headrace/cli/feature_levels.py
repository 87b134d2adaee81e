"""Feature levels as text, for the tools that know them without asking a cluster."""

from __future__ import annotations

import argparse

from headrace.cli.failure import CommandFailedError
from headrace.cli.output import print_json, wants_json
from headrace.metadata.features import (
    FEATURES,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    METADATA_VERSIONS,
    metadata_version_level,
    metadata_version_name,
)


def level_text(feature: str, level: int) -> str:
    """A level as people read it: metadata.version by its name, others by number."""
    if feature != METADATA_VERSION:
        return str(level)
    return metadata_version_name(level) if level in METADATA_VERSIONS else f"UNKNOWN {level}"


def print_mapping(args: argparse.Namespace) -> None:
    """The level of every feature that a release stands for."""
    given = args.release_version
    release = metadata_version_name(LATEST_METADATA_VERSION) if given is None else given
    version = parse_release(release)
    levels = {feature.name: feature.default_level(version) for feature in FEATURES.values()}
    if wants_json(args):
        print_json({"release": release, "features": {METADATA_VERSION: version, **levels}})
        return
    print(f"{METADATA_VERSION}={version} ({release})")
    for name, level in levels.items():
        print(f"{name}={level}")


def parse_release(text: str) -> int:
    try:
        return metadata_version_level(text)
    except ValueError as error:
        raise CommandFailedError(str(error)) from None


def parse_level(text: str) -> tuple[str, int]:
    """`name=level`."""
    name, equals, number = (part.strip() for part in text.partition("="))
    if not equals:
        raise CommandFailedError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        level = int(number)
        if not -32768 <= level <= 32767:
            raise ValueError
    except ValueError:
        raise CommandFailedError(
            f"Can't parse feature=level string {text}: unable to parse {number} as a short."
        ) from None
    return name, level


def print_dependencies(args: argparse.Namespace) -> None:
    """What each `name=level` needs besides."""
    found = [(*parsed, _needs(*parsed)) for parsed in map(parse_level, args.feature)]
    if wants_json(args):
        rows = [{"feature": name, "level": level, "requires": n} for name, level, n in found]
        print_json({"features": rows})
        return
    for name, level, needs in found:
        text = _with_name(name, level)
        print(f"{text} requires:" if needs else f"{text} has no dependencies.")
        for needed, least in needs.items():
            print(f"    {_with_name(needed, least)}")


def _needs(name: str, level: int) -> dict[str, int]:
    if name == METADATA_VERSION:
        if level not in METADATA_VERSIONS:
            raise CommandFailedError(f"Unknown metadata.version {level}")
        return {}
    feature = FEATURES.get(name)
    if feature is None:
        raise CommandFailedError(f"Unknown feature: {name}")
    if not 0 <= level <= feature.level_max:
        raise CommandFailedError(f"Feature level {level} is not supported for feature {name}")
    return dict(feature.needs.get(level, {}))


def _with_name(name: str, level: int) -> str:
    suffix = f" ({metadata_version_name(level)})" if name == METADATA_VERSION else ""
    return f"{name}={level}{suffix}"
