"""One data directory of `log.dirs`: its lock, its identity, its checkpoints, its failure.

What makes a directory unusable for this node (another node holds it, it belongs to another cluster
or node) is a `DataDirectoryError` with one sentence for the operator. What its disk does wrong
takes only this directory offline, and the node lives on with the others.
"""

import json
import os
from contextlib import suppress

from headrace.base.durability import sync_directory
from headrace.log.checkpoints import (
    CHECKPOINT_NAMES,
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from headrace.log.directory_lock import DirectoryLock
from headrace.log.directory_names import PartitionDirectoryName, parse_directory_name
from headrace.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from headrace.log.text_files import read_small_file, replace_text_file

CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH = -1


class DataDirectoryError(Exception):
    """Why a node must not start on a directory, in one sentence."""


class DataDirectory:
    """A directory that holds partitions. Offline once `failure` says why."""

    __slots__ = ("_last_stop", "_lock", "checkpoints", "failure", "path", "properties")

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.failure: str | None = None
        self.properties: MetaProperties | None = None
        self.checkpoints = {name: OffsetCheckpoint(self.path, name) for name in CHECKPOINT_NAMES}
        self._last_stop: tuple[bool, int] | None = None
        self._lock: DirectoryLock | None = None

    def __repr__(self) -> str:
        state = "online" if self.failure is None else f"offline: {self.failure}"
        return f"DataDirectory({self.path}, {state})"

    @property
    def online(self) -> bool:
        return self.failure is None

    @property
    def directory_id(self) -> bytes | None:
        return self.properties.directory_id if self.properties is not None else None

    @property
    def recovery_points(self) -> OffsetCheckpoint:
        return self.checkpoints[RECOVERY_POINT_CHECKPOINT]

    @property
    def log_starts(self) -> OffsetCheckpoint:
        return self.checkpoints[LOG_START_CHECKPOINT]

    @property
    def high_watermarks(self) -> OffsetCheckpoint:
        return self.checkpoints[HIGH_WATERMARK_CHECKPOINT]

    @property
    def cleaner_offsets(self) -> OffsetCheckpoint:
        return self.checkpoints[CLEANER_CHECKPOINT]

    def open(self) -> None:
        """Create the directory if need be, lock it, and read whose it is.

        Raises OSError if the disk refuses, `DataDirectoryError` if somebody else holds it.
        """
        os.makedirs(self.path, exist_ok=True)
        lock = DirectoryLock(self.path)
        if not lock.acquire():
            raise DataDirectoryError(f"Another node is using the data directory {self.path}.")
        self._lock = lock
        lock.name_process()
        try:
            self.properties = read_meta_properties(self.path)
        except ValueError as error:
            raise DataDirectoryError(f"{error}.") from None

    def set_identity(self, properties: MetaProperties, written: str) -> None:
        """Format the directory, or complete its identity."""
        write_meta_properties(self.path, properties, written)
        self.properties = properties

    def create_checkpoints(self) -> None:
        for checkpoint in self.checkpoints.values():
            checkpoint.create_if_missing()

    def fail(self, reason: str) -> None:
        """Go offline; the first reason is the one to know."""
        if self.failure is None:
            self.failure = reason
        self.close()

    def close(self) -> None:
        """Let others have the directory."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # The last stop

    def take_clean_shutdown(self) -> tuple[bool, int]:
        """(True if the last stop was clean, the broker epoch it had); the mark is gone then.

        Whatever happens from now on, the next start must not take this stop for a clean one. Asked
        again, it gives the same answer.
        """
        if self._last_stop is None:
            self._last_stop = self._take_clean_shutdown()
        return self._last_stop

    def _take_clean_shutdown(self) -> tuple[bool, int]:
        path = os.path.join(self.path, CLEAN_SHUTDOWN_FILE)
        try:
            text = read_small_file(path)
        except FileNotFoundError:
            return False, UNKNOWN_BROKER_EPOCH
        os.unlink(path)
        sync_directory(self.path)
        with suppress(ValueError, KeyError, TypeError):
            return True, int(json.loads(text)["brokerEpoch"])
        return True, UNKNOWN_BROKER_EPOCH

    @property
    def is_marked_clean(self) -> bool:
        """Whether the next start will find that this stop was clean."""
        return os.path.exists(os.path.join(self.path, CLEAN_SHUTDOWN_FILE))

    def mark_clean_shutdown(self, broker_epoch: int) -> None:
        """Say that everything is on the disk."""
        path = os.path.join(self.path, CLEAN_SHUTDOWN_FILE)
        text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        replace_text_file(path, text, sync=True)

    # Content

    def partitions(self) -> list[tuple[str, PartitionDirectoryName]]:
        """(directory name, its meaning) of all partitions; anything else is left alone."""
        found = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                parsed = parse_directory_name(entry.name)
                if parsed is not None and entry.is_dir():
                    found.append((entry.name, parsed))
        found.sort()
        return found

    def total_bytes(self) -> int:
        """The size of the file system."""
        facts = os.statvfs(self.path)
        return facts.f_frsize * facts.f_blocks

    def usable_bytes(self) -> int:
        """What is left of it for this user."""
        facts = os.statvfs(self.path)
        return facts.f_frsize * facts.f_bavail


def remove_directory(path: str) -> None:
    """Remove a deleted partition for good; one that is gone already is fine. Raises OSError."""
    from shutil import rmtree  # loads all kinds of archives, which a start need not wait for

    with suppress(FileNotFoundError):
        rmtree(path)
