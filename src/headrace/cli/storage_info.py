"""`headrace storage info`: what a node's data directories hold, and what is wrong with them."""

from __future__ import annotations

import os

from headrace.base.uuids import format_uuid
from headrace.cli.output import print_json
from headrace.log.meta_properties import MetaProperties, read_meta_properties


def print_info(directories: list[str], *, as_json: bool) -> int:
    """Print Kafka's lines; exit code 1 if there are problems."""
    found: list[str] = []
    problems: list[str] = []
    first: MetaProperties | None = None
    for directory in sorted(directories):
        if not os.path.isdir(directory):
            what = "is not a directory" if os.path.exists(directory) else "does not exist"
            problems.append(f"{directory} {what}")
            continue
        found.append(directory)
        try:
            properties = read_meta_properties(directory)
        except ValueError as error:
            problems.append(f"Error loading {error}")
            continue
        if properties is None:
            problems.append(f"{directory} is not formatted.")
        elif first is None:
            first = properties
        elif first.cluster_id != properties.cluster_id:
            problems.append("Mismatched cluster IDs between storage directories.")
        elif first.node_id != properties.node_id:
            problems.append("Mismatched node IDs between storage directories.")
    if first is not None and first.version == 0:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but"
            " the directories are formatted for legacy mode."
        )
    metadata = None if first is None else _fields(first)
    if as_json:
        print_json({"logDirs": found, "metadata": metadata, "problems": problems})
        return 1 if problems else 0
    _print_list(found, "Found log directory:", "Found log directories:")
    if metadata is not None:
        text = ", ".join(f"{name}={value}" for name, value in metadata.items())
        print(f"Found metadata: {{{text}}}\n")
    _print_list(problems, "Found problem:", "Found problems:")
    return 1 if problems else 0


def _print_list(lines: list[str], title: str, titles: str) -> None:
    if lines:
        print(title if len(lines) == 1 else titles)
        for line in lines:
            print(f"  {line}")
        print()


def _fields(properties: MetaProperties) -> dict[str, str | int | None]:
    fields: dict[str, str | int | None] = {"cluster.id": properties.cluster_id}
    if properties.directory_id is not None:
        fields["directory.id"] = format_uuid(properties.directory_id)
    return {**fields, "node.id": properties.node_id, "version": properties.version}
