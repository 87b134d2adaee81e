"""The doctor's look at a node that is to start: its data directories, ports and addresses."""

from __future__ import annotations

import os
import shutil
import socket
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.cli.doctor_cluster import ask_cluster, check_advertised
from headrace.cli.doctor_findings import Finding, note, ok, wrong
from headrace.cli.doctor_replication import check_replication
from headrace.client.config import ClientConfigError
from headrace.client.connection import format_address
from headrace.log.directory_lock import is_locked
from headrace.log.meta_properties import MetaProperties, read_meta_properties

if TYPE_CHECKING:
    from headrace.client.metadata import ClusterView
    from headrace.server.config import NodeConfig
    from headrace.server.listener_config import ListenerConfig

_FREE_BYTES_MIN = 1024**3


def check_node(config: NodeConfig) -> list[Finding]:
    directories = list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))
    identities, findings = check_directories(directories, config.node_id)
    running = _running_node(config)
    cluster_id = next(iter(identities.values())).cluster_id if identities else None
    is_ours = running is not None and running.cluster_id == cluster_id
    if is_ours and running is not None:
        findings.append(ok("node", f"The node is running (cluster {running.cluster_id})."))
        findings += check_replication(config, len(running.nodes))
        return findings + check_advertised(running)
    findings += check_replication(config, broker_count=1)
    findings += _check_locks(identities)
    for listener in config.listeners:
        findings += _check_listener(listener, running)
    return findings


# -------------------------------------------------------------------- directories


def check_directories(
    directories: list[str], node_id: int
) -> tuple[dict[str, MetaProperties], list[Finding]]:
    """Whose the directories are, and what is wrong with them."""
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
            findings.append(_unformatted(path))
            continue
        identities[path] = identity
        findings += _check_identity(path, identity, node_id)
        findings += _check_space(path)
    if len({identity.cluster_id for identity in identities.values()}) > 1:
        clusters = ", ".join(f"{path}: {i.cluster_id}" for path, i in identities.items())
        text = f"The data directories belong to different clusters ({clusters})."
        findings.append(wrong("data directory", text))
    return identities, findings


def _access_problem(path: str) -> str | None:
    if os.path.exists(path) and not os.path.isdir(path):
        return f"{path} is not a directory."
    existing = path
    while not os.path.exists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        return f"{existing} may not be read and written by this user."
    return None


def _unformatted(path: str) -> Finding:
    from headrace.server.development import holds_foreign_files

    if holds_foreign_files(path):
        return wrong(
            "data directory",
            f"{path} holds files but no meta.properties: it is no data directory of Kafka.",
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


# -------------------------------------------------------------------- listeners


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
    host = listener.host or "localhost"
    is_wildcard = host in ("0.0.0.0", "::")  # noqa: S104 - recognised, not bound
    return format_address(("localhost" if is_wildcard else host, listener.port))


def _check_listener(listener: ListenerConfig, running: ClusterView | None) -> list[Finding]:
    from headrace.server.sockets import BindError, bind

    if not listener.port:
        return []
    name = f"{listener.name}://{listener.host or ''}:{listener.port}"
    try:
        bind(listener.host, listener.port).close()
    except BindError as error:
        return [wrong("port", _bind_problem(listener, running, error))]
    findings = [ok("port", f"The address {name} is free.")]
    if listener.advertised_host and not listener.for_controller:
        findings += _check_name(listener.advertised_host)
    return findings


def _bind_problem(listener: ListenerConfig, running: ClusterView | None, error: Exception) -> str:
    if "in use" not in str(error).lower():
        return str(error)
    if running is not None and not listener.for_controller:
        return (
            f"Port {listener.port} is taken: another Kafka broker answers there"
            f" (cluster {running.cluster_id}). Stop it, or choose another port in listeners."
        )
    return (
        f"Port {listener.port} is taken by another program."
        " Stop it, or choose another port in listeners."
    )


def _check_name(host: str) -> list[Finding]:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        text = f"The advertised name {host} cannot be resolved: clients will not find the broker."
        return [wrong("advertised address", text)]
    return [ok("advertised address", f"The advertised name {host} can be resolved.")]
