"""`partition.metadata`: which topic id a partition's directory belongs to."""

import os

from headrace.base.uuids import format_uuid, parse_uuid
from headrace.log.file_names import PARTITION_METADATA
from headrace.log.text_files import read_small_file, replace_text_file, write_new_file


def read_topic_id(directory: str) -> bytes | None:
    """The topic id in the file; None if there is no file, or power failed before it had text.

    `ValueError` if it holds something else.
    """
    path = os.path.join(directory, PARTITION_METADATA)
    try:
        text = read_small_file(path).decode("utf-8")
    except FileNotFoundError:
        return None
    if not text.strip("\0"):
        return None
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != "0" or "topic_id" not in fields:
        raise ValueError(f"{path} is malformed: {text!r}")
    return parse_uuid(fields["topic_id"].strip())


def write_topic_id(directory: str, topic_id: bytes, *, is_new: bool = False) -> str:
    """Write the file and return its path; like the data, it is synced by the log's first flush.

    In a new directory there is nothing to replace: a file that a crash left empty counts as none.
    """
    path = os.path.join(directory, PARTITION_METADATA)
    text = f"version: 0\ntopic_id: {format_uuid(topic_id)}"
    if is_new:
        write_new_file(path, text)
    else:
        replace_text_file(path, text, sync=False)
    return path
