"""Formatting for starts without configuration: `headrace up` and the embedded node."""

from __future__ import annotations

import os
import time

from headrace.base.uuids import format_uuid, random_uuid
from headrace.server.config import NodeConfig
from headrace.server.formatting import FormatPlan, format_storage
from headrace.server.registered_endpoints import date_line


def ensure_formatted(config: NodeConfig) -> None:
    """Make the data directories this node's own, unless they are already somebody's."""
    if os.path.exists(os.path.join(config.metadata_log_dir, "meta.properties")):
        return
    now_ms = time.time_ns() // 1_000_000
    format_storage(
        FormatPlan(
            cluster_id=format_uuid(random_uuid()),
            node_id=config.node_id,
            directories=config.log_dirs,
            metadata_directory=config.metadata_log_dir,
        ),
        now_ms=now_ms,
        written=date_line(now_ms),
        say=lambda _: None,
    )
