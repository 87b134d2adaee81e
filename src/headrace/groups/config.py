"""The settings of group coordinators, as far as classic groups and offsets go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Defaults are Kafka's."""

    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    members_max: int = 2**31 - 1
    #: A member that has joined but was never in a generation may be silent for this long.
    new_member_join_timeout_ms: int = 300_000
    offset_metadata_max: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000
    offsets_retention_check_interval_ms: int = 600_000
    #: The codec of what the coordinators write, by its number in a batch.
    records_compression: int = 0
