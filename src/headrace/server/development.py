"""Formatting for starts without configuration: `headrace up` and the embedded node."""

from __future__ import annotations

import os
import time

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import format_uuid, parse_uuid, random_uuid
from headrace.log.meta_properties import FILE_NAME as META_PROPERTIES
from headrace.metadata.bootstrap import FILE_NAME as BOOTSTRAP
from headrace.server.config import NodeConfig
from headrace.server.formatting import FormatError, FormatPlan, format_storage
from headrace.server.registered_endpoints import date_line

#: What a new disk holds, and half a format. Names with a dot in front concern nobody either: a node
#: that failed to start leaves its lock.
_OF_NO_CONCERN = frozenset({"lost+found", BOOTSTRAP, f"{META_PROPERTIES}.tmp"})


def ensure_formatted(config: NodeConfig, cluster_id: str | None = None) -> None:
    """Make the data directories this node's own, unless they are already somebody's.

    `cluster_id` is that of a new cluster; without it chance picks one.
    """
    if os.path.exists(os.path.join(config.metadata_log_dir, META_PROPERTIES)):
        return
    directories = tuple(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))
    for directory in filter(holds_foreign_files, directories):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{directory} holds files but no {META_PROPERTIES}, so it is no data directory:"
            " name an empty directory, or one that does not exist yet.",
        )
    if cluster_id is not None and not _is_uuid(cluster_id):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"The cluster id '{cluster_id}' is no UUID: `headrace storage random-uuid` prints one.",
        )
    now_ms = time.time_ns() // 1_000_000
    try:
        format_storage(
            FormatPlan(
                cluster_id=cluster_id or format_uuid(random_uuid()),
                node_id=config.node_id,
                directories=directories,
                metadata_directory=config.metadata_log_dir,
            ),
            now_ms=now_ms,
            written=date_line(now_ms),
            say=lambda _: None,
        )
    except FormatError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _is_uuid(text: str) -> bool:
    try:
        parse_uuid(text)
    except ValueError:
        return False
    return True


def holds_foreign_files(directory: str) -> bool:
    """Whether something is there that a format would claim though nobody gave it to a node."""
    try:
        names = set(os.listdir(directory))
    except FileNotFoundError:
        return False
    hidden = {name for name in names if name.startswith(".")}
    return META_PROPERTIES not in names and not names - hidden <= _OF_NO_CONCERN
