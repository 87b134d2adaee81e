"""The files of a segment: one log file and its indexes, which share a base offset and a suffix."""

import contextlib
import errno
import os

from headrace.log.file_names import (
    LOG,
    OFFSET_INDEX,
    SEGMENT_KINDS,
    TIME_INDEX,
    TXN_INDEX,
    file_name,
)
from headrace.log.offset_index import OffsetIndex
from headrace.log.open_files import OpenFile, OpenFiles
from headrace.log.time_index import TimeIndex
from headrace.log.txn_index import TxnIndex


class SegmentFiles:
    """Paths, names and the open log file; what is in the files is not looked at here."""

    __slots__ = (
        "base_offset",
        "directory",
        "file",
        "files",
        "offset_index",
        "suffix",
        "time_index",
        "txn_index",
    )

    def __init__(
        self, files: OpenFiles, directory: str, base_offset: int, *, suffix: str = ""
    ) -> None:
        self.files = files
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = suffix
        self.file = OpenFile(self.path(LOG))
        self.offset_index = OffsetIndex(self.path(OFFSET_INDEX), base_offset)
        self.time_index = TimeIndex(self.path(TIME_INDEX), base_offset)
        self.txn_index = TxnIndex(self.path(TXN_INDEX), base_offset)

    def path(self, kind: str) -> str:
        """The path of one of this segment's files."""
        return os.path.join(self.directory, file_name(self.base_offset, kind, self.suffix))

    def fd(self) -> int:
        """The log file's descriptor, valid until another segment is used."""
        file = self.file
        if file.fd < 0:
            return self.files.open(file)
        file.used = True
        return file.fd

    def store_indexes(self) -> None:
        """Write the index entries that are in memory."""
        self.offset_index.store()
        self.time_index.store()
        self.txn_index.store()

    def close(self) -> None:
        self.files.close(self.file)

    def rename(self, suffix: str) -> None:
        """Give all files another suffix, the log file first, or none if the disk refuses."""
        renamed: list[tuple[str, str]] = []
        for kind in SEGMENT_KINDS:
            old = self.path(kind)
            new = os.path.join(self.directory, file_name(self.base_offset, kind, suffix))
            try:
                os.rename(old, new)
                renamed.append((old, new))
            except FileNotFoundError:
                if kind == LOG:
                    raise
            except OSError as error:
                _take_back(renamed, error)
                raise
        self.suffix = suffix
        self._set_paths()

    def move(self, directory: str) -> None:
        """Follow a directory that was renamed."""
        self.directory = directory
        self._set_paths()

    def _set_paths(self) -> None:
        self.file.path = self.path(LOG)
        self.offset_index.path = self.path(OFFSET_INDEX)
        self.time_index.path = self.path(TIME_INDEX)
        self.txn_index.path = self.path(TXN_INDEX)

    def delete_files(self) -> None:
        """Remove all files, the log file first: an index without a log is known to be garbage."""
        self.close()
        for kind in SEGMENT_KINDS:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path(kind))


def _take_back(renamed: list[tuple[str, str]], cause: OSError) -> None:
    """Undo renames; a disk that refuses that as well leaves half a segment, which never passes."""
    try:
        for old, new in renamed:
            os.rename(new, old)
    except OSError:
        raise OSError(errno.EIO, f"half renamed: {cause.strerror}", old) from cause
