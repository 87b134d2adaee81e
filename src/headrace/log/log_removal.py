"""How partitions leave a node: deleted after a delay, or put aside when nobody knows them."""

import os
from collections.abc import Callable, Iterable

from headrace.base.uuids import random_uuid
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.checkpoints import TopicPartition
from headrace.log.directories import DataDirectory
from headrace.log.directory_names import DELETE, STRAY, suffixed_directory_name
from headrace.log.errors import LogDirFailure
from headrace.log.log_registry import LogRegistry
from headrace.log.partition_log import PartitionLog


class LogRemoval(LogRegistry):
    """The part of the log manager that renames directories out of the way."""

    def delete(self, keys: Iterable[TopicPartition], now_ms: int) -> CheckpointRound:
        """Take partitions out of use; their files go after `file.delete.delay.ms`.

        Run the round that is returned soon: until then a crash could mistake offsets of the old
        partitions for those of new ones with the same names.
        """
        return self.checkpoint_round(self.retire(keys, now_ms))

    def retire(self, keys: Iterable[TopicPartition], now_ms: int) -> list[DataDirectory]:
        """The first half of `delete`, for many partitions in pieces: renames only.

        The checkpoints of the directories that are returned have to be written soon.
        """
        touched: list[DataDirectory] = []
        for key in keys:
            path = self._move(key, DELETE, touched)
            if path is not None:
                self.deleting.append((now_ms + self.config.file_delete_delay_ms, path))
        return touched

    def put_aside(self, key: TopicPartition) -> str | None:
        """Rename a log that belongs to no topic any more; it is kept for people to look at."""
        return self._move(key, STRAY, [])

    def put_strays_aside(self, belongs: Callable[[PartitionLog], bool]) -> list[str]:
        """Put every log aside that metadata knows nothing of; where they are now."""
        strays = [key for key, log in self.logs.items() if not belongs(log)]
        return [path for key in strays if (path := self.put_aside(key)) is not None]

    def _move(self, key: TopicPartition, suffix: str, touched: list[DataDirectory]) -> str | None:
        log = self.logs.get(key)
        if log is None:
            return None
        directory = self.directory_of(log)
        name = suffixed_directory_name(log.topic, log.partition, random_uuid(), suffix)
        path = os.path.join(directory.path, name)
        self._drop(key)
        self.cleaning.forget(key)
        log.close(clean=False)
        try:
            log.rename_directory(path)
        except LogDirFailure as failure:
            self.handle_failure(failure)
            return None
        if directory not in touched:
            touched.append(directory)
        return path
