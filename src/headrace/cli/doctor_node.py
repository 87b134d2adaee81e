"""The doctor's look at a node that is to start: is it running, and are its directories ready?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.cli.doctor_cluster import ask_cluster, check_advertised
from headrace.cli.doctor_findings import Finding, note, ok, wrong
from headrace.cli.doctor_ports import check_ports, check_ports_beside
from headrace.cli.doctor_replication import check_replication
from headrace.client.config import ClientConfigError
from headrace.client.connection import format_address
from headrace.log.directory_lock import is_locked
from headrace.log.meta_properties import FILE_NAME as META_PROPERTIES
from headrace.log.meta_properties import MetaProperties, read_meta_properties

if TYPE_CHECKING:
    from headrace.client.metadata import ClusterView
    from headrace.server.config import NodeConfig
    from headrace.server.listener_config import ListenerConfig

    Ports = Iterable[tuple[str, int]]

_FREE_BYTES_MIN = 1024**3


def check_node(config: NodeConfig, services: Ports = (), *, formats: bool) -> list[Finding]:
    """`formats`: the start makes data directories; `services` are what stands beside the node."""
    directories = list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))
    needed = [] if formats else _formatted_before_start(config)
    identities, findings = check_directories(directories, config.node_id, needed)
    running = _running_node(config)
    cluster_id = next(iter(identities.values())).cluster_id if identities else None
    is_ours = running is not None and running.cluster_id == cluster_id
    if is_ours and running is not None:
        findings.append(ok("node", f"The node is running (cluster {running.cluster_id})."))
        findings += check_replication(config, len(running.nodes))
        return findings + check_advertised(running)
    findings += check_replication(config, broker_count=1)
    findings += _check_locks(identities)
    return findings + check_ports(config, running) + check_ports_beside(services)


# -------------------------------------------------------------------- directories


def check_directories(
    directories: list[str], node_id: int, needed: Sequence[str] = ()
) -> tuple[dict[str, MetaProperties], list[Finding]]:
    """Whose they are, and what is wrong with them; those that are `needed` nobody will format."""
    identities: dict[str, MetaProperties] = {}
    findings: list[Finding] = []
    for path in directories:
        problem = _access_problem(path)
        if problem is not None:
            findings.append(wrong("data directory", problem))
            continue
        try:
            identity = read_meta_properties(path)
        except (ValueError, OSError) as error:
            findings.append(wrong("data directory", f"{path} cannot be read: {error}."))
            continue
        if identity is None:
            findings.append(_unformatted(path, is_needed=path in needed))
            continue
        identities[path] = identity
        findings += _check_identity(path, identity, node_id)
        findings += _check_space(path)
    if len({identity.cluster_id for identity in identities.values()}) > 1:
        clusters = ", ".join(f"{path}: {i.cluster_id}" for path, i in identities.items())
        text = f"The data directories belong to different clusters ({clusters})."
        findings.append(wrong("data directory", text))
    return identities, findings


def _formatted_before_start(config: NodeConfig) -> list[str]:
    """Without them a node that formats nothing refuses to start.

    A further directory gets the identity of the others, but none gets a metadata log.
    """
    names = [os.path.join(path, META_PROPERTIES) for path in config.log_dirs]
    others = [] if any(map(os.path.exists, names)) else config.log_dirs
    return [config.metadata_log_dir, *others]


def _access_problem(path: str) -> str | None:
    if os.path.exists(path) and not os.path.isdir(path):
        return f"{path} is not a directory."
    existing = path
    while not os.path.exists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        return f"{existing} may not be read and written by this user."
    return None


def _unformatted(path: str, *, is_needed: bool) -> Finding:
    from headrace.server.development import holds_foreign_files

    if holds_foreign_files(path):
        return wrong(
            "data directory",
            f"{path} holds files but no meta.properties: it is no data directory of Kafka.",
        )
    if is_needed:
        return wrong(
            "data directory",
            f"{path} is not formatted, so the node cannot start: `headrace storage format` does"
            " that. If it was formatted before, its disk may be missing.",
        )
    return note(
        "data directory",
        f"{path} is not formatted yet: `headrace up` does that, or `headrace storage format`.",
    )


def _check_identity(path: str, identity: MetaProperties, node_id: int) -> list[Finding]:
    if identity.version == 0:
        return [wrong("data directory", f"{path} is of a ZooKeeper cluster, which cannot be used.")]
    if identity.node_id != node_id:
        text = f"{path} belongs to node {identity.node_id}, but node.id is {node_id}."
        return [wrong("data directory", text)]
    text = f"{path} belongs to node {node_id} of cluster {identity.cluster_id}."
    return [ok("data directory", text)]


def _check_space(path: str) -> list[Finding]:
    free = shutil.disk_usage(path).free
    if free >= _FREE_BYTES_MIN:
        return []
    return [note("disk", f"Only {free // 1024**2} MB are free on the disk of {path}.")]


def _check_locks(identities: dict[str, MetaProperties]) -> list[Finding]:
    findings = []
    for path in identities:
        try:
            is_used = is_locked(path)
        except OSError as error:
            text = f"{path} cannot be locked: {error.strerror}."
            findings.append(wrong("data directory", text))
            continue
        if is_used:
            text = f"Another node is using {path}: stop it, or give this node its own directory."
            findings.append(wrong("data directory", text))
    return findings


# -------------------------------------------------------------------- the node itself


def _running_node(config: NodeConfig) -> ClusterView | None:
    """What answers on the first port for clients, if it is a broker."""
    for listener in config.listeners:
        if not listener.for_controller and listener.port:
            try:
                return ask_cluster(_address(listener))
            except (KafkaError, ClientConfigError):
                return None
    return None


def _address(listener: ListenerConfig) -> str:
    from headrace.server.listener_config import is_wildcard

    host = listener.host
    return format_address(
        ("localhost" if host is None or is_wildcard(host) else host, listener.port)
    )
