"""The few operations on files that a commit needs: local directories, and whatever Hadoop knows."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from headrace.base.durability import sync_descriptor, sync_directory

#: What file systems without hard links answer.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


class Files(Protocol):
    """A file system in which a rename is one step."""

    def names(self, directory: str) -> list[str]:
        """Sorted; none if there is no such directory."""

    def sizes(self, directory: str) -> dict[str, int]:
        """Every file below a directory, hidden ones left out, by its path from there."""

    def exists(self, path: str) -> bool: ...

    def read(self, path: str) -> str | None:
        """The text of a file; None if it is not there."""

    def create(self, path: str, text: str) -> bool:
        """A whole new file or none at all; False if there was one already."""

    def rename(self, source: str, target: str) -> None: ...

    def make_directory(self, path: str) -> None: ...

    def delete(self, path: str) -> None:
        """A file or a tree, if it is there."""

    def sync(self, path: str) -> None:
        """What was written to the file survives the machine."""


class LocalFiles:
    """Directories of this machine, or mounted on all of them."""

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            return []

    def sizes(self, directory: str) -> dict[str, int]:
        root = Path(directory)
        found = (path for path in root.rglob("*") if not path.name.startswith((".", "_")))
        return {str(it.relative_to(root)): it.stat().st_size for it in found if it.is_file()}

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def read(self, path: str) -> str | None:
        try:
            return Path(path).read_text()
        except FileNotFoundError:
            return None

    def create(self, path: str, text: str) -> bool:
        parent, name = os.path.split(path)
        draft = os.path.join(parent, f".{name}.{os.getpid()}")
        with open(draft, "w") as stream:
            stream.write(text)
            stream.flush()
            sync_descriptor(stream.fileno())
        try:
            # Unlike a rename, a link does not take the place of what another driver has put there.
            os.link(draft, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # Such file systems have no step that does both: a second driver may slip through.
            if os.path.lexists(path):
                return False
            os.rename(draft, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
        self.sync(parent)
        return True

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def delete(self, path: str) -> None:
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def sync(self, path: str) -> None:
        if os.path.isdir(path):
            sync_directory(path)
            return
        with open(path, "rb") as stream:
            sync_descriptor(stream.fileno())


def files_of(spark: Any, path: str) -> tuple[Files, str]:
    """Who works on this path, and the path as Spark and that file system are to be given it."""
    from headrace.spark.stores.hadoop_files import HadoopFiles, qualified

    url = urlsplit(qualified(spark, path))
    if url.scheme == "file":
        return LocalFiles(), unquote(url.path).rstrip("/") or "/"
    return HadoopFiles(spark, path), url.geturl().rstrip("/")
