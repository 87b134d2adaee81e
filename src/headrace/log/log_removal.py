"""How partitions leave a node: deleted after a delay, or put aside when nobody knows them."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from headrace.base.uuids import random_uuid
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.checkpoints import TopicPartition
from headrace.log.directories import DataDirectory
from headrace.log.directory_names import DELETE, STRAY, suffixed_directory_name
from headrace.log.errors import LogDirFailure
from headrace.log.log_registry import LogRegistry
from headrace.log.partition_log import PartitionLog


class Retirement(NamedTuple):
    """What became of logs that were to be deleted."""

    #: The checkpoints of these have to be written soon.
    touched: list[DataDirectory]
    #: Logs that are as they were, since the disk has no room for a name; to be tried again.
    refused: dict[TopicPartition, LogDirFailure]


class LogRemoval(LogRegistry):
    """The part of the log manager that renames directories out of the way."""

    def delete(self, keys: Iterable[TopicPartition], now_ms: int) -> CheckpointRound:
        """Take partitions out of use; their files go after `file.delete.delay.ms`.

        Run the round that is returned soon: until then a crash could mistake offsets of the old
        partitions for those of new ones with the same names.
        """
        return self.checkpoint_round(self.retire(keys, now_ms).touched)

    def retire(self, keys: Iterable[TopicPartition], now_ms: int) -> Retirement:
        """The first half of `delete`, for many partitions in pieces: renames only."""
        touched: list[DataDirectory] = []
        refused: dict[TopicPartition, LogDirFailure] = {}
        for key in keys:
            try:
                path = self._move(key, DELETE, touched)
            except LogDirFailure as failure:
                refused[key] = failure
                continue
            if path is not None:
                self.deleting.append((now_ms + self.config.file_delete_delay_ms, path))
        return Retirement(touched, refused)

    def put_aside(self, key: TopicPartition) -> str | None:
        """Rename a log that belongs to no topic any more; it is kept for people to look at.

        Raises `LogDirFailure` if the disk has no room for that now.
        """
        return self._move(key, STRAY, [])

    def put_strays_aside(self, belongs: Callable[[PartitionLog], bool]) -> list[str]:
        """Put every log aside that metadata knows nothing of; where they are now."""
        strays = [key for key, log in self.logs.items() if not belongs(log)]
        paths: list[str] = []
        for key in strays:
            # Where there is no room for a name, the log keeps its own until somebody wants that.
            with suppress(LogDirFailure):
                path = self.put_aside(key)
                if path is not None:
                    paths.append(path)
        return paths

    def _move(self, key: TopicPartition, suffix: str, touched: list[DataDirectory]) -> str | None:
        """Rename a log and let go of it. Raises `LogDirFailure` if a later try may succeed."""
        log = self.logs.get(key)
        if log is None:
            return None
        directory = self.directory_of(log)
        name = suffixed_directory_name(log.topic, log.partition, random_uuid(), suffix)
        path = os.path.join(directory.path, name)
        # Segments that are about to be swapped in would not come along.
        self.cleaning.abort(key)
        try:
            log.rename_directory(path)
        except LogDirFailure as failure:
            if failure.passes:
                raise  # as long as it has its name, it must not be forgotten
            self._let_go(key, log)
            self.handle_failure(failure)
            return None
        self._let_go(key, log)
        if directory not in touched:
            touched.append(directory)
        return path

    def _let_go(self, key: TopicPartition, log: PartitionLog) -> None:
        self._drop(key)
        self.cleaning.forget(key)
        log.close(clean=False)
