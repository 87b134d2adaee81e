"""Feature levels as text, for the tools that know them without asking a cluster."""

from __future__ import annotations

from headrace.cli.failure import CommandFailedError
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


def mapping_lines(release: str | None) -> list[str]:
    """The level of every feature that a release stands for."""
    text = metadata_version_name(LATEST_METADATA_VERSION) if release is None else release
    level = parse_release(text)
    lines = [f"{METADATA_VERSION}={level} ({text})"]
    lines += [f"{f.name}={f.default_level(level)}" for f in FEATURES.values()]
    return lines


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


def dependency_lines(texts: list[str]) -> list[str]:
    """What each `name=level` needs besides."""
    lines = []
    for text in texts:
        name, level = parse_level(text)
        if name == METADATA_VERSION:
            if level not in METADATA_VERSIONS:
                raise CommandFailedError(f"Unknown metadata.version {level}")
            lines.append(f"{name}={level} ({metadata_version_name(level)}) has no dependencies.")
            continue
        feature = FEATURES.get(name)
        if feature is None:
            raise CommandFailedError(f"Unknown feature: {name}")
        if not 0 <= level <= feature.level_max:
            raise CommandFailedError(f"Feature level {level} is not supported for feature {name}")
        needs = feature.needs.get(level, {})
        lines.append(
            f"{name}={level} requires:" if needs else f"{name}={level} has no dependencies."
        )
        for needed, least in needs.items():
            suffix = f" ({metadata_version_name(least)})" if needed == METADATA_VERSION else ""
            lines.append(f"    {needed}={least}{suffix}")
    return lines
