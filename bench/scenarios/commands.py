"""How long short-lived things take: a tool that answers one question, a node for one test.

Both sides of a tool ask the same node, in turns. Apache's runs in the JVM of its own start
script, without that script's own time. An embedded node counts from the call until it answers,
formatted and on a free port; Apache Kafka has none, so the same is done with its programs.
"""

import time
from collections.abc import Callable

from bench.brokers import Brokers
from bench.markdown import format_ratio
from bench.peer import Peer
from bench.rows import Side
from bench.scenarios.scenario import Outcome, medians, say
from headrace.testing import EmbeddedKafka
from tests.support.headrace_node import headrace
from tests.support.java import DEFAULT_JVM, java_tool

GIGABYTES = 1.0

#: `kafka-topics.sh` and its siblings.
_TOOL_JVM = (*DEFAULT_JVM, "-Xmx256M")
_TOPICS = 20


def run(brokers: Brokers, quick: bool) -> Outcome:
    rounds = [_round(brokers) for _ in range(3 if quick else 11)][1:]
    figures = medians(rounds)
    say(f"{figures}")
    rows = []
    for key, title in _TITLES.items():
        ours, theirs = figures[f"{key} {Side.HEADRACE}"], figures[f"{key} {Side.APACHE}"]
        rows.append((title, f"{ours:.2f} s", f"{theirs:.2f} s", format_ratio(ours / theirs)))
    return Outcome(("", "Headrace", "Apache Kafka", "ratio"), rows, rounds)


_TITLES = {
    "list": "`topics --list`, 20 topics, on a Headrace node",
    "embedded": "a node for a test: formatted, started, answering",
}


def _round(brokers: Brokers) -> dict[str, float]:
    measured = {}
    with brokers.running(Side.HEADRACE, "commands") as peer:
        _make_topics(peer)
        measured[f"list {Side.HEADRACE}"] = _seconds(lambda: _list_with_headrace(peer.bootstrap))
        measured[f"list {Side.APACHE}"] = _seconds(lambda: _list_with_java(peer.bootstrap))
    brokers.remove(Side.HEADRACE, "commands")
    measured[f"embedded {Side.HEADRACE}"] = _embedded_seconds()
    began = time.monotonic()
    with brokers.running(Side.APACHE, "commands"):
        measured[f"embedded {Side.APACHE}"] = time.monotonic() - began
    brokers.remove(Side.APACHE, "commands")
    return measured


def _make_topics(peer: Peer) -> None:
    for number in range(_TOPICS):
        peer.create_topic(f"topic-{number}", 1)


def _embedded_seconds() -> float:
    began = time.monotonic()
    with EmbeddedKafka():
        return time.monotonic() - began


def _list_with_headrace(bootstrap: str) -> None:
    _check(headrace("topics", "--list", "--bootstrap-server", bootstrap).stdout)


def _list_with_java(bootstrap: str) -> None:
    options = ("--list", "--bootstrap-server", bootstrap)
    _check(java_tool("TopicCommand", *options, jvm=_TOOL_JVM).stdout)


def _check(listed: str) -> None:
    if len(listed.split()) != _TOPICS:
        raise RuntimeError(f"not {_TOPICS} topics: {listed}")


def _seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
