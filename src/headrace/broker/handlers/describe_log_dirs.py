"""DescribeLogDirs: the data directories of this node, and how large the partitions in them are."""

from __future__ import annotations

from headrace.base.errors import ErrorCode
from headrace.broker.cluster_view import ImageSource
from headrace.broker.context import RequestContext
from headrace.broker.partitions import Partitions
from headrace.log.directories import DataDirectory
from headrace.log.log_manager import LogManager
from headrace.log.partition_log import PartitionLog
from headrace.metadata.features import CORDONED_DIRECTORIES_LEVEL
from headrace.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

#: For a log that no partition of this node stands behind.
_LAG_UNKNOWN = -1

Wanted = frozenset[tuple[str, int]] | None


class DescribeLogDirsHandler:
    """Serves API key 35."""

    def __init__(self, logs: LogManager, partitions: Partitions, source: ImageSource) -> None:
        self._logs = logs
        self._partitions = partitions
        self._source = source

    def __call__(
        self, context: RequestContext, request: DescribeLogDirsRequest
    ) -> DescribeLogDirsResponse:
        wanted: Wanted = None
        if request.topics is not None:
            wanted = frozenset(
                (topic.topic, index) for topic in request.topics for index in topic.partitions
            )
        return DescribeLogDirsResponse(
            results=[self._describe(directory, wanted) for directory in self._logs.directories]
        )

    def _describe(self, directory: DataDirectory, wanted: Wanted) -> DescribeLogDirsResult:
        result = DescribeLogDirsResult(log_dir=directory.path)
        if directory.online:
            try:
                result.total_bytes = directory.total_bytes()
                result.usable_bytes = directory.usable_bytes()
            except OSError:
                result.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
                return result
            result.topics = self._topics(directory, wanted)
            result.is_cordoned = self._is_cordoned(directory)
        else:
            result.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
        return result

    def _topics(self, directory: DataDirectory, wanted: Wanted) -> list[DescribeLogDirsTopic]:
        topics: dict[str, DescribeLogDirsTopic] = {}
        for key, log in self._logs.logs_in(directory).items():
            if wanted is not None and key not in wanted:
                continue
            topic = topics.get(log.topic)
            if topic is None:
                topic = topics[log.topic] = DescribeLogDirsTopic(name=log.topic)
            topic.partitions.append(
                DescribeLogDirsPartition(
                    partition_index=log.partition,
                    partition_size=log.size_bytes,
                    offset_lag=self._lag(log),
                )
            )
        return list(topics.values())

    def _lag(self, log: PartitionLog) -> int:
        """How far this replica is behind what is committed; 0 for a leader."""
        partition = self._partitions.get(log.topic, log.partition)
        if partition is None:
            return _LAG_UNKNOWN
        return max(partition.high_watermark - log.log_end_offset, 0)

    def _is_cordoned(self, directory: DataDirectory) -> bool:
        supported = self._source.image.metadata_version >= CORDONED_DIRECTORIES_LEVEL
        return supported and directory.path in self._logs.cordoned
