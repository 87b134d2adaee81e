"""Transactions that nobody would ever end: found and ended by Apache Kafka's tool, and by ours.

A broker that does not check with the coordinator takes a late batch of an old client, after the
transaction's end, as the begin of another one. Readers of committed records then stop before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.raw_call import calls_to
from tests.support.reading import read_topic
from tests.support.tool_jvm import ToolJvm
from tests.support.transaction_talk import Conversation, wall_ms

_SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.partition.verification.enable": "false",
}
#: What hangs has hung for longer than any transaction may take.
_HOUR_MS = 3_600_000
#: Requests of clients from before KIP-890.
_LATE = """\
topic {0} 1
init {0}
    -> P1/0
add@3 {0} P1/0 {0}-0
    -> ok
produce@11 {0} P1/0 {0}-0 0 one
    -> at 0
commit@4 {0} P1/0
    -> ok
produce@11 {0} P1/0 {0}-0 1 late
    -> at 2
ends {0}-0
    -> stable 2 of 3
"""

Tool = Callable[..., str]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    directory = tmp_path_factory.mktemp("hanging") / "data"
    with HeadraceNode(directory, settings=_SETTINGS) as running:
        yield running


@pytest.fixture(params=["apache", "headrace"])
def tool(request: pytest.FixtureRequest, node: HeadraceNode, tools: ToolJvm) -> Tool:
    """A run of either tool, which returns what it printed."""
    server = ("--bootstrap-server", node.bootstrap)
    if request.param == "apache":
        return lambda *args: tools.run("TransactionsCommand", *server, *args).stdout
    return lambda *args: headrace("transactions", *server, *args).stdout


def hanging(tool: Tool, topic: str) -> list[list[str]]:
    """Topic, partition, producer id and epoch, coordinator epoch, start offset of each."""
    lines = tool("find-hanging", "--broker-id", "1").splitlines()
    return [line.split()[:6] for line in lines if line.startswith(topic)]


def test_a_late_batch_is_found_and_its_transaction_aborted(
    node: HeadraceNode, tool: Tool, request: pytest.FixtureRequest
) -> None:
    topic = f"late-{request.node.callspec.id}"
    with calls_to(node) as call:
        talk = Conversation(call, now_ms=lambda: wall_ms() - _HOUR_MS)
        story = _LATE.format(topic)
        assert talk.play(story) == story
        (row,) = hanging(tool, topic)
        assert row[1] == "0"
        assert row[3:6] == ["0", "0", "2"]
        tool("abort", "--topic", topic, "--partition", "0", "--start-offset", "2")
        assert hanging(tool, topic) == []
        assert talk.run(["ends", f"{topic}-0"]) == ["-> stable 4 of 4"]
    assert [record.value for record in read_topic(node, topic)] == [b"one"]


def test_an_open_transaction_is_ended_by_its_transactional_id(
    node: HeadraceNode, tool: Tool, request: pytest.FixtureRequest
) -> None:
    name = f"open-{request.node.callspec.id}"
    with calls_to(node) as call:
        talk = Conversation(call)
        talk.play(f"topic {name} 1\ninit {name}\nproduce {name} P1/0 {name}-0 0 never\n")
        tool("forceTerminateTransaction", "--transactionalId", name)
        (described,) = talk.run(["describe", name])
        assert described.startswith(("-> CompleteAbort", "-> Empty"))
        assert talk.run(["ends", f"{name}-0"]) == ["-> stable 2 of 2"]
        # Whoever had it open is not told that it was committed.
        assert talk.run(["commit", name, "P1/0"]) == ["-> PRODUCER_FENCED"]
    assert read_topic(node, name) == []
