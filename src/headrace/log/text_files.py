"""Small files that are read and replaced as a whole."""

import errno
import os

from headrace.base.durability import sync_descriptor, sync_directory


def replace_text_file(path: str, text: str, *, sync: bool) -> None:
    """Write beside and rename over `path`: a reader sees the old text or the new one.

    With `sync`, text and name are on the disk when this returns.
    """
    temporary = path + ".tmp"
    write_new_file(temporary, text, sync=sync)
    os.replace(temporary, path)
    if sync:
        sync_directory(os.path.dirname(path))


def write_new_file(path: str, text: str, *, sync: bool = False) -> None:
    """Write a file that nobody reads yet."""
    data = text.encode("utf-8")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if sync:
            sync_descriptor(fd)
    finally:
        os.close(fd)


def read_small_file(path: str) -> bytes:
    """All bytes of a file, without the layers that `open` puts between: a start reads many."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
            if len(part) < 65536:
                break
        return b"".join(parts)
    finally:
        os.close(fd)


def sync_file(path: str) -> None:
    """Make a file's bytes durable; one that is gone by now needs nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        sync_descriptor(fd)
    finally:
        os.close(fd)
