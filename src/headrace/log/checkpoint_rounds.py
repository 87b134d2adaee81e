"""Writing checkpoints of all data directories without keeping the log's owner waiting.

The owner gathers the offsets, any thread writes them (an fsync each), the owner hears of failures.
"""

from collections.abc import Mapping

from headrace.log.checkpoints import TopicPartition
from headrace.log.directories import DataDirectory


class CheckpointRound:
    """Offsets to be written, one file a data directory."""

    __slots__ = ("_writes", "failures")

    def __init__(self) -> None:
        self._writes: list[tuple[DataDirectory, str, Mapping[TopicPartition, int]]] = []
        #: Directories whose disk refused, with errno and sentence; for `finish_checkpoints`.
        self.failures: list[tuple[DataDirectory, int | None, str]] = []

    def add(
        self, directory: DataDirectory, name: str, offsets: Mapping[TopicPartition, int]
    ) -> None:
        """`offsets` must not change afterwards."""
        self._writes.append((directory, name, offsets))

    def run(self) -> None:
        """Write the files. Never raises, and may run in another thread."""
        for directory, name, offsets in self._writes:
            checkpoint = directory.checkpoints[name]
            try:
                checkpoint.write(offsets)
            except OSError as error:
                reason = f"{error.strerror or error} while writing {checkpoint.path}"
                self.failures.append((directory, error.errno, reason))
