"""The console consumer as a member of a group, against a scripted broker."""

from __future__ import annotations

import subprocess

import pytest

from headrace.protocol.messages.leave_group import LeaveGroupRequest
from headrace.protocol.messages.offset_commit import OffsetCommitRequest
from tests.support.headrace_node import HEADRACE
from tests.unit.cli.test_consoles import broker, consume, produce
from tests.unit.client.scripted_broker import ScriptedBroker
from tests.unit.client.scripted_groups import coordinate_one_member

__all__ = ["broker"]


def test_a_group_goes_on_where_it_stopped(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker
) -> None:
    offsets = coordinate_one_member(broker)
    text = b"".join(b"%d\n" % number for number in range(10))
    assert produce(monkeypatch, broker, text, "--batch-size", "1") == 0
    args = ("--group", "g", "--from-beginning")
    _, first = consume(monkeypatch, broker, *args, "--max-messages", "3")
    assert sum(offsets.values()) == 3
    _, rest = consume(monkeypatch, broker, *args, "--max-messages", "7")
    assert sorted(first + rest) == [str(number) for number in range(10)]
    assert sum(offsets.values()) == 10
    assert consume(monkeypatch, broker, *args, "--timeout-ms", "50")[1] == []


def test_a_group_commits_nothing_if_told_so(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker
) -> None:
    offsets = coordinate_one_member(broker)
    assert produce(monkeypatch, broker, b"1\n2\n") == 0
    args = ("--group", "g", "--from-beginning", "--max-messages", "2")
    settings = ("--command-property", "enable.auto.commit=false")
    assert sorted(consume(monkeypatch, broker, *args, *settings)[1]) == ["1", "2"]
    assert offsets == {}


@pytest.mark.parametrize(
    "args",
    [
        ["--group", "g", "--partition", "0"],
        ["--group", "g", "--command-property", "group.id=h"],
    ],
)
def test_a_group_and_options_that_contradict_it(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker, args: list[str]
) -> None:
    assert consume(monkeypatch, broker, *args)[0] == 2


def test_commits_carry_the_epoch_of_the_last_batch(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker
) -> None:
    coordinate_one_member(broker)
    broker.topics = {"t": 1}
    assert produce(monkeypatch, broker, b"1\n") == 0
    consume(monkeypatch, broker, "--group", "g", "--from-beginning", "--max-messages", "1")
    commits = [request for request in broker.asked if isinstance(request, OffsetCommitRequest)]
    (row,) = commits[-1].topics[0].partitions
    assert (row.committed_offset, row.committed_leader_epoch) == (1, 0)


def test_a_member_that_is_terminated_commits_and_leaves(
    monkeypatch: pytest.MonkeyPatch, broker: ScriptedBroker
) -> None:
    offsets = coordinate_one_member(broker)
    assert produce(monkeypatch, broker, b"1\n2\n") == 0
    options = ("--bootstrap-server", broker.address, "--topic", "t", "--group", "g")
    with subprocess.Popen(
        [*HEADRACE, "console-consumer", *options, "--from-beginning"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        printed = {process.stdout.readline(), process.stdout.readline()}
        process.terminate()
        _, errors = process.communicate(timeout=30)
    assert printed == {"1\n", "2\n"}
    assert (process.returncode, errors) == (143, "Processed a total of 2 messages\n")
    assert sum(offsets.values()) == 2
    assert isinstance(broker.asked[-1], LeaveGroupRequest)


@pytest.mark.parametrize(
    "args",
    [
        "--isolation-level read_comitted",
        "--command-property isolation.level=read_comitted",
        "--group g --command-property isolation.level=committed",
        "--group g --command-property enable.auto.commit=yes",
        "--group g --command-property isolation_level=committed",
        "--command-property max.poll.records=abc",
        "--command-property max.poll.records=0",
        "--command-property fetch.min.bytes=-1",
        "--group g --command-property auto.commit.interval.ms=5s",
        "--command-property auto.offset.reset=erliest",
        "--command-property auto.offset.reset=by_duration:PT1X",
        "--command-property auto.offset.reset=by_duration:-PT1H",
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    broker: ScriptedBroker,
    capsys: pytest.CaptureFixture[str],
    args: str,
) -> None:
    assert consume(monkeypatch, broker, *args.split()) == (1, [])
    told = capsys.readouterr().err.splitlines()[0]
    value = args.split()[-1].rpartition("=")[2]
    assert told.startswith(f"Invalid value {value} for configuration ")
    assert broker.asked == []
