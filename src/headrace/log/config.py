"""The settings of one log: Kafka's topic settings with types, and nothing of the broker's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.base.settings.topic import TOPIC_SETTINGS

INT64_MAX = (1 << 63) - 1
INT32_MAX = (1 << 31) - 1
#: Kafka's own way round the lower limit of `segment.bytes`.
INTERNAL_SEGMENT_BYTES = "internal.segment.bytes"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Field names are the topic settings with underscores; defaults are Kafka's."""

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = INT64_MAX
    flush_ms: int = INT64_MAX
    #: Ours: `deep` has every record of a produced batch checked.
    headrace_produce_validation: str = "header"
    index_interval_bytes: int = 4096
    local_retention_bytes: int = -2
    local_retention_ms: int = -2
    max_compaction_lag_ms: int = INT64_MAX
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = INT64_MAX
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    remote_storage_enable: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    unclean_leader_election_enable: bool = False

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, str], over: "LogConfig | None" = None
    ) -> "LogConfig":
        """Build from `setting.name -> text`; names that are no log settings are left alone.

        What is not named, or not readable, is as in `over`. Texts are read by the rules by which
        they were checked, but limits are no business of a log: see `Setting.stored`.
        """
        values: dict[str, Any] = {}
        small = settings.get(INTERNAL_SEGMENT_BYTES)
        if small is not None:
            settings = {**settings, "segment.bytes": small}
        for name, text in settings.items():
            field = _FIELDS.get(name)
            if field is not None and (value := TOPIC_SETTINGS[name].stored(text)) is not None:
                values[field] = _without_blanks(value) if isinstance(value, tuple) else value
        return replace(over or cls(), **values)

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def uses_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def segment_ms_max(self) -> int:
        """Age at which the active segment rolls; compaction must reach it within its own lag."""
        if self.compact:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms


def _without_blanks(members: tuple[str, ...]) -> frozenset[str]:
    return frozenset(filter(None, members))


#: Settings of topics that concern logs, and the fields that they are in.
_FIELDS = {
    name: field
    for name in TOPIC_SETTINGS
    if (field := name.replace(".", "_")) in LogConfig.__dataclass_fields__
}
