"""Kafka's tools that Headrace does not have: what to say to somebody who asks for one.

Each is a sentence with the reason, so that nobody looks for a mistake in how the name is written.
`docs/GAPS.md` lists them.
"""

from __future__ import annotations

_ONE_NODE = "a cluster is one node, so there is nowhere else for a replica to be"
_NO_SHARE = "share groups are not served yet"
_NO_CONNECT = "connectors cannot be run yet"

ABSENT_TOOLS = {
    "reassign-partitions": _ONE_NODE,
    "replica-verification": _ONE_NODE,
    "acls": "access is not controlled yet: every request is allowed",
    "client-metrics": "clients are not asked for their metrics (KIP-714) yet",
    "delegation-tokens": "there is no authentication yet, which tokens are for",
    "metadata-shell": "it is not written; `dump-log --cluster-metadata-decoder` shows metadata",
    "share-groups": _NO_SHARE,
    "console-share-consumer": _NO_SHARE,
    "share-consumer-perf-test": _NO_SHARE,
    "verifiable-share-consumer": _NO_SHARE,
    "streams-groups": "Streams groups (KIP-1071) are not served yet",
    "streams-application-reset": "it is not written; `consumer-groups` resets offsets",
    "jmx": "there is no JMX; a node serves its metrics to Prometheus",
    "connect-standalone": _NO_CONNECT,
    "connect-distributed": _NO_CONNECT,
    "connect-plugin-path": _NO_CONNECT,
    "connect-mirror-maker": "clusters cannot be mirrored yet",
}


def why_absent(plain: str) -> str | None:
    """The sentence for a tool that Kafka has and Headrace has not, by its name without `kafka-`."""
    reason = ABSENT_TOOLS.get(plain)
    return None if reason is None else f"headrace: there is no {plain} yet: {reason}."
