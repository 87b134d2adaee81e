"""The directories of one node: those of `log.dirs`, and the one that its metadata log lies in.

The metadata log may have a directory of its own (`metadata.log.dir`), which is locked and belongs
to a node as the others do. A node starts only where its metadata log is sure to be: with another
one, or an empty one, it would take every partition on its disks for a stray.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.log.directories import DataDirectory, DataDirectoryError
from headrace.log.directory_identity import open_directories
from headrace.log.meta_properties import FILE_NAME as META_PROPERTIES
from headrace.log.meta_properties import MetaProperties
from headrace.server.metadata_store import DIRECTORY as METADATA_LOG


@dataclass(frozen=True, slots=True)
class NodeDirectories:
    """All of them, opened: locked, and known to be this node's."""

    data: list[DataDirectory]
    #: One of `data`, or one more without partitions.
    metadata: DataDirectory
    cluster_id: str

    def close(self) -> None:
        """Let others have them."""
        for directory in (*self.data, self.metadata):
            directory.close()


def open_node_directories(
    log_dirs: Sequence[str], metadata_log_dir: str, *, node_id: int, written: str
) -> NodeDirectories:
    """Open all directories; data directories with a bad disk come back offline.

    `written` is the date line of a `meta.properties` that this writes. Raises `DataDirectoryError`,
    with all locks free.
    """
    # Before anything is opened: then a new directory is given the identity of the others.
    if not _is_formatted(metadata_log_dir) and any(map(_is_formatted, log_dirs)):
        raise DataDirectoryError(
            f"The metadata directory {metadata_log_dir} is not formatted, but other directories"
            " of the node are: its disk may be missing."
        )
    data = open_directories(list(log_dirs), node_id=node_id, written=written)
    try:
        known = next(one.properties for one in data if one.properties is not None)
        metadata = _metadata_directory(metadata_log_dir, data, known)
    except BaseException:
        for directory in data:
            directory.close()
        raise
    return NodeDirectories(data, metadata, known.cluster_id)


def _is_formatted(path: str) -> bool:
    return os.path.exists(os.path.join(path, META_PROPERTIES))


def _metadata_directory(
    path: str, data: list[DataDirectory], known: MetaProperties
) -> DataDirectory:
    real = os.path.realpath(path)
    found: DataDirectory | None = None
    for directory in data:
        if os.path.realpath(directory.path) == real:
            found = directory
        elif directory.online and os.path.isdir(os.path.join(directory.path, METADATA_LOG)):
            raise DataDirectoryError(
                f"The data directory {directory.path} holds a metadata log,"
                f" but the metadata directory is {path}."
            )
    if found is None:
        found = _open_apart(path, known)
    if not found.online:
        raise DataDirectoryError(f"The metadata directory cannot be used: {found.failure}.")
    return found


def _open_apart(path: str, known: MetaProperties) -> DataDirectory:
    directory = DataDirectory(path)
    try:
        directory.open()
        _check_identity(directory, known)
    except OSError as error:
        directory.fail(f"{error.strerror or error}: {error.filename or path}")
    except DataDirectoryError:
        directory.close()
        raise
    return directory


def _check_identity(directory: DataDirectory, known: MetaProperties) -> None:
    properties = directory.properties
    if properties is None:
        raise DataDirectoryError(f"The metadata directory {directory.path} is not formatted.")
    if properties.node_id != known.node_id:
        raise DataDirectoryError(
            f"The metadata directory {directory.path} belongs to node {properties.node_id},"
            f" but node.id is {known.node_id}."
        )
    if properties.cluster_id != known.cluster_id:
        raise DataDirectoryError(
            f"The metadata directory {directory.path} belongs to cluster {properties.cluster_id},"
            f" not to cluster {known.cluster_id}."
        )
