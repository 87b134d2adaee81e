"""`meta.properties`: whose a data directory is. A Java properties file, version 1."""

import os
import re
from dataclasses import dataclass

from headrace.base.uuids import format_uuid, parse_uuid
from headrace.log.text_files import replace_text_file

FILE_NAME = "meta.properties"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SEPARATOR = re.compile(r"(?<!\\)[=:\s]")


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The identity of one data directory."""

    cluster_id: str
    node_id: int
    #: None in directories that Kafka formatted before 3.7 and never started since.
    directory_id: bytes | None = None
    version: int = 1


def encode_meta_properties(properties: MetaProperties, written: str) -> str:
    """The content of the file; `written` is the date line, which only people read."""
    lines = ["#", f"#{written}", f"node.id={properties.node_id}"]
    if properties.directory_id is not None:
        lines.append(f"directory.id={format_uuid(properties.directory_id)}")
    lines.append(f"version={properties.version}")
    lines.append(f"cluster.id={_escape(properties.cluster_id)}")
    return "\n".join(lines) + "\n"


def decode_meta_properties(text: str) -> MetaProperties:
    """Read the file's content; `ValueError` with a clear sentence if it is not one."""
    fields = _parse(text)
    version = fields.get("version", "0")
    if version not in ("0", "1"):
        raise ValueError(f"unsupported version {version} of {FILE_NAME}")
    # Version 0 called the node a broker.
    node = fields.get("node.id") or fields.get("broker.id")
    cluster_id = fields.get("cluster.id")
    if not node or not cluster_id:
        raise ValueError(f"{FILE_NAME} has no {'cluster.id' if node else 'node.id'}")
    try:
        node_id = int(node)
    except ValueError:
        raise ValueError(f"{FILE_NAME} has node.id={node}, which is no number") from None
    directory = fields.get("directory.id")
    return MetaProperties(
        cluster_id, node_id, parse_uuid(directory) if directory else None, int(version)
    )


def read_meta_properties(data_directory: str) -> MetaProperties | None:
    """The identity of a data directory; None if it is not formatted."""
    path = os.path.join(data_directory, FILE_NAME)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file") from None
    try:
        return decode_meta_properties(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def write_meta_properties(data_directory: str, properties: MetaProperties, written: str) -> None:
    """Write the file so that it is on the disk, whole, or not there at all."""
    text = encode_meta_properties(properties, written)
    replace_text_file(os.path.join(data_directory, FILE_NAME), text, sync=True)


def _parse(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        found = _SEPARATOR.search(line)
        name, value = (line, "") if found is None else (line[: found.start()], line[found.end() :])
        fields[_unescape(name)] = _unescape(value.lstrip(" \t=:") if found else value)
    return fields


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(
        r"\\(u[0-9a-fA-F]{4}|.)",
        lambda found: (
            chr(int(found[1][1:], 16)) if len(found[1]) == 5 else _ESCAPES.get(found[1], found[1])
        ),
        text,
    )


def _escape(text: str) -> str:
    return re.sub(r"([\\=:#!])", r"\\\1", text)
