"""The doctor's look at a running cluster: does it answer, and can what it advertises be reached?"""

from __future__ import annotations

import socket

from headrace.base.errors import KafkaError
from headrace.cli.doctor_findings import Finding, ok, wrong
from headrace.cli.failure import describe
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig, ClientConfigError
from headrace.client.connection import format_address
from headrace.client.metadata import ClusterView

_CONNECT_SECONDS = 3.0
_REQUEST_MS = 5000


def check_cluster(bootstrap: str) -> list[Finding]:
    try:
        view = ask_cluster(bootstrap)
    except (KafkaError, ClientConfigError) as error:
        text = describe(error) if isinstance(error, KafkaError) else str(error)
        return [wrong("cluster", text)]
    count = len(view.nodes)
    nodes = f"{count} broker{'' if count == 1 else 's'}"
    found = ok("cluster", f"The cluster {view.cluster_id} with {nodes} answers at {bootstrap}.")
    return [found, *check_advertised(view)]


def ask_cluster(bootstrap: str, *, wait_ms: int = 0) -> ClusterView:
    """Who answers at an address; `KafkaError` if nobody does."""
    settings = {
        "bootstrap.servers": bootstrap,
        "request.timeout.ms": str(_REQUEST_MS),
        "socket.connection.setup.timeout.ms": "3000",
    }
    config = ClientConfig.from_settings(settings, client_id="headrace-doctor")
    with KafkaClient(config, bootstrap_wait_ms=wait_ms) as client:
        return client.refresh()


def check_advertised(view: ClusterView) -> list[Finding]:
    """Clients connect to what brokers advertise, not to the bootstrap address."""
    findings = []
    for node in view.nodes.values():
        address = format_address((node.host, node.port))
        problem = reach(node.host, node.port)
        if problem is None:
            text = f"Broker {node.node_id} can be reached at its advertised address {address}."
            findings.append(ok("advertised address", text))
        else:
            findings.append(
                wrong(
                    "advertised address",
                    f"Broker {node.node_id} advertises {address}, which cannot be reached from"
                    f" here ({problem}): clients find the broker but cannot use it."
                    " Set advertised.listeners to an address that they can reach.",
                )
            )
    return findings


def reach(host: str, port: int) -> str | None:
    """None if a connection can be made, else why not."""
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    except socket.gaierror:
        return "the name cannot be resolved"
    except (UnicodeError, OverflowError):
        return "it is no address"
    except TimeoutError:
        return "timed out"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None
