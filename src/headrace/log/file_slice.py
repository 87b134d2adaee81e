"""Bytes of a log file that nobody has read: the kernel can send them without our touching them."""

import os

from headrace.log.open_files import OpenFile, OpenFiles


class FileSlice:
    """A stretch of an open file. The file stays open as long as the slice is referred to."""

    __slots__ = ("_file", "_files", "fd", "length", "position")

    def __init__(self, files: OpenFiles, file: OpenFile, position: int, length: int) -> None:
        self.fd = files.pin(file)
        self._files = files
        self._file = file
        self.position = position
        self.length = length

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        """The bytes after all, for whoever cannot hand the file to the kernel."""
        return os.pread(self.fd, self.length, self.position)

    def skip(self, count: int) -> None:
        """The first `count` bytes are done with."""
        self.position += count
        self.length -= count

    def __del__(self) -> None:
        # Whatever becomes of a response (sent, dropped, its client gone), the pin goes with it.
        self._files.unpin(self._file)
