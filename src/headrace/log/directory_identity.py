"""Opening all of `log.dirs` for one node: each must be this node's, in this cluster, or new."""

import os

from headrace.base.uuids import random_uuid
from headrace.log.directories import DataDirectory, DataDirectoryError
from headrace.log.meta_properties import MetaProperties


def open_directories(
    paths: list[str], *, node_id: int, cluster_id: str | None = None, written: str = ""
) -> list[DataDirectory]:
    """Open all directories of `log.dirs` for one node; those with a bad disk come back offline.

    A directory that is new and empty is given the identity of the others. `written` is the date
    line of a `meta.properties` that this writes. Raises `DataDirectoryError`, with all locks free.
    """
    directories = [DataDirectory(path) for path in paths]
    try:
        _refuse_duplicates(directories)
        for directory in directories:
            try:
                directory.open()
                directory.create_checkpoints()
            except OSError as error:
                directory.fail(f"{error.strerror or error}: {error.filename or directory.path}")
        _check_identities(directories, node_id, cluster_id)
        _complete_identities(directories, written)
    except BaseException:
        for directory in directories:
            directory.close()
        raise
    return directories


def _refuse_duplicates(directories: list[DataDirectory]) -> None:
    seen: set[str] = set()
    for directory in directories:
        real = os.path.realpath(directory.path)
        if real in seen:
            raise DataDirectoryError(f"log.dirs names the directory {directory.path} twice.")
        seen.add(real)


def _check_identities(
    directories: list[DataDirectory], node_id: int, cluster_id: str | None
) -> None:
    online = [directory for directory in directories if directory.online]
    if not online:
        reasons = "; ".join(str(directory.failure) for directory in directories)
        raise DataDirectoryError(f"None of the data directories can be used: {reasons}.")
    ids: dict[bytes, str] = {}
    for directory in online:
        properties = directory.properties
        if properties is None:
            continue
        if properties.node_id != node_id:
            raise DataDirectoryError(
                f"The data directory {directory.path} belongs to node {properties.node_id},"
                f" but node.id is {node_id}."
            )
        if cluster_id is None:
            cluster_id = properties.cluster_id
        if properties.cluster_id != cluster_id:
            raise DataDirectoryError(
                f"The data directory {directory.path} belongs to cluster {properties.cluster_id},"
                f" not to cluster {cluster_id}."
            )
        if properties.directory_id is not None:
            other = ids.setdefault(properties.directory_id, directory.path)
            if other != directory.path:
                raise DataDirectoryError(
                    f"The data directories {other} and {directory.path} have the same directory.id."
                )


def _complete_identities(directories: list[DataDirectory], written: str) -> None:
    online = [directory for directory in directories if directory.online]
    known = next((d.properties for d in online if d.properties is not None), None)
    if known is None:
        raise DataDirectoryError(
            f"The data directory {online[0].path} is not formatted:"
            " run `headrace storage format` first."
        )
    for directory in online:
        properties = directory.properties
        if properties is None and directory.partitions():
            raise DataDirectoryError(
                f"The data directory {directory.path} holds partitions but no meta.properties."
            )
        if properties is None or properties.directory_id is None:
            identity = MetaProperties(known.cluster_id, known.node_id, random_uuid())
            try:
                directory.set_identity(identity, written)
            except OSError as error:
                directory.fail(f"{error.strerror or error}: {directory.path}")
