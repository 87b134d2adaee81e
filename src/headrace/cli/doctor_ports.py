"""The doctor's look at a node's addresses: are they free, and can clients use them?

Who may have them is asked of the system by taking them, all at once, so that two that are in each
other's way are seen as well.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.base.settings.tables.headrace import METRICS_LISTENER
from headrace.cli.doctor_findings import Finding, note, ok, wrong
from headrace.client.connection import format_address

if TYPE_CHECKING:
    from headrace.client.metadata import ClusterView
    from headrace.server.config import NodeConfig
    from headrace.server.listener_config import ListenerConfig


def check_ports(config: NodeConfig, running: ClusterView | None) -> list[Finding]:
    """Every address that the node will listen on; `running` answers on its port for clients."""
    from headrace.server.sockets import BindError, bind

    findings: list[Finding] = []
    with contextlib.ExitStack() as taken:
        for listener in config.listeners:
            if not listener.port:
                continue
            name = f"{listener.name}://{listener.host or ''}:{listener.port}"
            try:
                taken.enter_context(bind(listener.host, listener.port))
            except BindError as error:
                findings.append(wrong("port", _listener_problem(listener, running, error)))
                continue
            findings.append(ok("port", f"The address {name} is free."))
            if listener.advertised_host and not listener.for_controller:
                findings.append(_check_advertised(listener.advertised_host))
        if config.metrics_listener is not None and config.metrics_listener[1]:
            findings.append(_check_metrics(config, config.metrics_listener, taken))
    return findings


def check_ports_beside(ports: Iterable[tuple[str, int]]) -> list[Finding]:
    """What `headrace up` serves beside its node; it starts without those whose port is taken."""
    from headrace.server.sockets import is_taken

    return [
        note("port", f"Port {port} is taken: `headrace up` starts without its {what}.")
        for what, port in ports
        if is_taken(port)
    ]


def _listener_problem(
    listener: ListenerConfig, running: ClusterView | None, error: Exception
) -> str:
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


def _check_metrics(
    config: NodeConfig, address: tuple[str | None, int], taken: contextlib.ExitStack
) -> Finding:
    from headrace.server.sockets import BindError, bind

    host, port = address
    try:
        taken.enter_context(bind(host, port))
    except BindError as error:
        if "in use" not in str(error).lower():
            return wrong("port", f"{METRICS_LISTENER}: {error}")
        own = [listener.name for listener in config.listeners if listener.port == port]
        whose = f"the listener {own[0]}" if own else "another program"
        text = f"Port {port} of {METRICS_LISTENER} is taken by {whose}. Choose another port."
        return wrong("port", text)
    return ok("port", f"The address {format_address((host or '', port))} for metrics is free.")


def _check_advertised(host: str) -> Finding:
    subject = "advertised address"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return _check_name(host)
    if _is_of_this_machine(address):
        return ok(subject, f"The advertised address {host} is one of this machine.")
    return note(
        subject,
        f"The advertised address {host} is none of this machine: clients find the broker only"
        " if something forwards it here.",
    )


def _check_name(host: str) -> Finding:
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):  # too long a name is the latter
        text = f"The advertised name {host} cannot be resolved: clients will not find the broker."
        return wrong("advertised address", text)
    return ok("advertised address", f"The advertised name {host} can be resolved.")


def _is_of_this_machine(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:  # the latter where the system has no IPv6 at all
        return error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True
