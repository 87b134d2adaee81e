"""What can go wrong between a log and its disk."""

import errno
import os

from headrace.base.errors import ErrorCode, KafkaError

#: The process may open no more files: that says nothing of any disk.
OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})
#: What costs nothing but the operation that met it: it passes, and the disk is not broken.
PASSING = OUT_OF_FILES | {errno.ENOSPC, errno.EDQUOT}


class LogDirFailure(KafkaError):
    """The disk under a data directory refused an operation; clients get KAFKA_STORAGE_ERROR.

    `errno` tells a full disk (ENOSPC) from a broken one. The log that raised it is unchanged, or
    refuses all further work: a log never goes on as if a failed write or fsync had succeeded.
    """

    def __init__(self, directory: str, action: str, cause: OSError | None = None) -> None:
        reason = f": {cause.strerror or cause}" if cause is not None else ""
        super().__init__(
            ErrorCode.KAFKA_STORAGE_ERROR, f"Error while {action} in {directory}{reason}."
        )
        self.directory = directory
        self.data_directory = os.path.dirname(directory)
        self.errno = cause.errno if cause is not None else None
        #: Nothing is lost and a later try may succeed. Not so once a log refuses all work.
        self.passes = self.errno in PASSING


class CorruptIndexError(Exception):
    """An index that cannot belong to its segment; it is rebuilt from the log file."""


class CorruptSnapshotError(Exception):
    """A producer snapshot that cannot be trusted; an older one is used instead."""
