"""What one partition's log consists of, shared by the parts that append, read, flush and cut."""

from zlib import crc32

from headrace.base.uuids import ZERO_UUID
from headrace.log.config import INT64_MAX, LogConfig
from headrace.log.errors import PASSING, LogDirFailure
from headrace.log.leader_epochs import LeaderEpochs
from headrace.log.open_files import OpenFiles
from headrace.log.producer_state import ProducerStates
from headrace.log.segment import Segment
from headrace.log.segments import Segments

#: More than lies between any two timestamps.
_ANY_DISTANCE_MS = 1 << 65


class LogState:
    """The fields of a log and the settings its hot path needs, taken apart once."""

    __slots__ = (
        "_append_time",
        "_config",
        "_failure",
        "_flush_messages",
        "_index_interval",
        "_offset_entries_max",
        "_segment_bytes",
        "_segment_ms",
        "_time_entries_max",
        "active",
        "ahead_max_ms",
        "appends_at_once",
        "behind_max_ms",
        "directory",
        "directory_unsynced",
        "examines_records",
        "files",
        "last_flush_ms",
        "leader_epochs",
        "log_end_offset",
        "log_start_offset",
        "max_message_bytes",
        "partition",
        "pending_deletes",
        "producer_expiration_ms",
        "producers",
        "recovery_point",
        "segments",
        "topic",
        "topic_id",
        "truncations",
        "unsynced_paths",
    )

    active: Segment
    #: Produced batches have to be looked into before they are appended.
    examines_records: bool
    #: Whether appends wait neither for a look at their records nor for a flush.
    appends_at_once: bool
    #: How far a produced batch's timestamps may be from the clock.
    ahead_max_ms: int
    behind_max_ms: int
    max_message_bytes: int

    def __init__(
        self,
        directory: str,
        topic: str,
        partition: int,
        *,
        topic_id: bytes = ZERO_UUID,
        config: LogConfig,
        files: OpenFiles,
        producer_expiration_ms: int = 86_400_000,
    ) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.files = files
        self.segments = Segments()
        self.config = config
        self.producer_expiration_ms = producer_expiration_ms
        self.leader_epochs = LeaderEpochs(directory)
        self.producers = ProducerStates(directory)
        self.log_start_offset = 0
        self.log_end_offset = 0
        #: Everything below is on the disk; a recovery begins here.
        self.recovery_point = 0
        self.last_flush_ms = 0
        #: Names in the directory changed since its last fsync.
        self.directory_unsynced = True
        #: Small files that the next flush has to sync.
        self.unsynced_paths: list[str] = []
        #: Files renamed to `.deleted`, and when they may go.
        self.pending_deletes: list[tuple[int, str]] = []
        #: Counts cuts at the end, so that a flush under way does not vouch for what came after.
        self.truncations = 0
        self._failure: LogDirFailure | None = None

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.topic}-{self.partition},"
            f" {self.log_start_offset}..{self.log_end_offset}, {self.directory})"
        )

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._append_time = config.uses_append_time
        self._flush_messages = config.flush_messages
        self._segment_bytes = config.segment_bytes
        self._segment_ms = config.segment_ms_max
        self._index_interval = config.index_interval_bytes
        self._offset_entries_max = config.segment_index_bytes // 8
        # The last place is kept free for the entry that a roll adds.
        self._time_entries_max = config.segment_index_bytes // 12 - 1
        self.max_message_bytes = config.max_message_bytes
        self.examines_records = (
            config.compact
            or config.compression_type != "producer"
            or config.headrace_produce_validation == "deep"
        )
        flushes_by_count = config.flush_messages < INT64_MAX
        self.appends_at_once = not (self.examines_records or flushes_by_count)
        if config.uses_append_time:  # it does not matter what the producer's clock said
            self.ahead_max_ms = self.behind_max_ms = _ANY_DISTANCE_MS
        else:
            self.ahead_max_ms = config.message_timestamp_after_max_ms
            self.behind_max_ms = config.message_timestamp_before_max_ms
        if len(self.segments):  # there is none yet while a log is being made
            self.segments.active.index_room = 0

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes()

    @property
    def failure(self) -> LogDirFailure | None:
        """Why this log refuses all work, if it does."""
        return self._failure

    def fail(self, action: str, error: OSError) -> LogDirFailure:
        """From now on refuse all work: what is on the disk is no longer certain."""
        self._failure = failure = LogDirFailure(self.directory, action, error)
        failure.passes = False
        return failure

    def refuse(self, action: str, error: OSError) -> LogDirFailure:
        """Like `fail`, where nothing is lost if the cause is one that passes."""
        if error.errno in PASSING:
            return LogDirFailure(self.directory, action, error)
        return self.fail(action, error)

    def require_healthy(self) -> None:
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    def roll(self, now_ms: int, first_offset: int = 0) -> Segment:
        """Begin a new active segment; the old one is left as Kafka leaves it.

        `first_offset` is that of the next batch, which a follower may find beyond the log end.
        """
        self.require_healthy()
        base_offset = max(first_offset, self.log_end_offset)
        old = self.active
        if old.base_offset == base_offset and old.size == 0:
            return old
        try:
            old.finish()
            # With a snapshot at each segment's start, a segment can be recovered by itself.
            self.producers.end_offset = base_offset
            self.producers.take_snapshot()
            segment = Segment.create(self.files, self.directory, base_offset, now_ms)
            self.segments.add(segment)
            self.active = segment
            self.directory_unsynced = True
        except OSError as error:
            raise self.refuse("rolling a segment", error) from error
        return segment

    def _roll_is_due(self, segment: Segment, timestamp: int, now_ms: int) -> bool:
        """True once a segment has grown for long enough, in its records' time if they have one."""
        first = segment.first_timestamp()
        waited = timestamp - first if first >= 0 else now_ms - segment.created_ms
        return waited > self._roll_limit_ms(segment)

    def _roll_limit_ms(self, segment: Segment) -> int:
        limit = self._segment_ms
        jitter = min(self._config.segment_jitter_ms, limit)
        if jitter > 0:  # spreads the rolls of many partitions, the same whenever it is asked
            limit -= crc32(segment.file.path.encode()) % jitter
        return limit
