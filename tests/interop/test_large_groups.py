"""Apache Kafka's own tool describes a group that has more members than one answer has steps."""

from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.raw_call import calls_to
from tests.support.readiness import eventually
from tests.support.tool_jvm import ToolJvm

pytestmark = pytest.mark.interop

MEMBERS = 600
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    # Nobody sends a second heartbeat, and a busy machine may take its time.
    "group.consumer.session.timeout.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
}


def test_a_group_of_many_members_is_described(tmp_path: Path, tools: ToolJvm) -> None:
    with HeadraceNode(tmp_path / "data", settings=SETTINGS) as node, calls_to(node) as call:
        server = ("--bootstrap-server", node.bootstrap)
        headrace("topics", *server, "--create", "--topic", "t", "--partitions", str(MEMBERS))
        find = FindCoordinatorRequest(coordinator_keys=["crowd"])
        eventually(lambda: call(find, None).coordinators[0].error_code == 0, timeout=30)

        def joined(number: int) -> bool:
            answer = call(
                ConsumerGroupHeartbeatRequest(
                    group_id="crowd",
                    member_id=f"member-{number}",
                    member_epoch=0,
                    rebalance_timeout_ms=60_000,
                    subscribed_topic_names=["t"],
                    topic_partitions=[],
                ),
                None,
            )
            loading = answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert loading or answer.error_code == 0, answer
            return not loading

        for number in range(MEMBERS):
            eventually(lambda: joined(number), timeout=30)  # noqa: B023 - called at once
        group = (*server, "--describe", "--group", "crowd")
        shown = tools.run("ConsumerGroupCommand", *group, "--members").stdout
    rows = [line.split() for line in shown.splitlines() if line.startswith("crowd")]
    assert {row[1] for row in rows} == {f"member-{number}" for number in range(MEMBERS)}
