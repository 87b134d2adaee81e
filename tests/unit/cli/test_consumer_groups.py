"""`headrace consumer-groups` and `groups` against a scripted broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.cli.consumer_groups_scenarios import parse_datetime, read_plan
from headrace.cli.durations import parse_duration
from headrace.cli.failure import CommandFailedError
from headrace.cli.main import main
from headrace.client.groups_protocol import write_assignment
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from headrace.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from headrace.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from headrace.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from headrace.protocol.messages.offset_commit import OffsetCommitRequest
from tests.unit.client.scripted_broker import Answer, ScriptedBroker
from tests.unit.client.scripted_groups import END, FIRST, IN_BETWEEN, coordinate


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as scripted:
        scripted.topics = {"t": 2}
        coordinate(scripted, {("t", 0): 10})
        yield scripted


def run(broker: ScriptedBroker, *args: str) -> int:
    return main(["consumer-groups", "--bootstrap-server", broker.address, *args])


def row(*cells: str) -> str:
    widths = (15, 15, 10, 15, 15, 15, 15, 15, 0)
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


HEAD = row(
    *("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"),
    *("CONSUMER-ID", "HOST", "CLIENT-ID"),
)


def test_the_lag_table_of_a_group_without_members(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "--describe", "--group", "g") == 0
    printed = capsys.readouterr()
    line = row("g", "t", "0", "10", "40", "30", "-", "-", "-")
    assert printed.out == f"\n{HEAD}\n{line}\n"
    assert printed.err == "\nConsumer group 'g' has no active members.\n"


def test_partitions_of_members_have_a_lag_only_where_something_is_committed(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    member = DescribedGroupMember(
        member_id="m",
        client_id="c",
        client_host="/h",
        member_assignment=write_assignment([("t", 1), ("t", 0)]),
    )
    group = DescribedGroup(
        group_id="g", group_state="Stable", protocol_type="consumer", members=[member]
    )
    broker.scripts[ApiKey.DESCRIBE_GROUPS] = lambda _r, _v: DescribeGroupsResponse(groups=[group])
    assert run(broker, "--describe", "--group", "g") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        row("g", "t", "0", "10", "40", "30", "m", "/h", "c"),
        row("g", "t", "1", "-", "40", "-", "m", "/h", "c"),
    ]
    assert run(broker, "--describe", "--group", "g", "--members", "-o", "json") == 0
    (described,) = json.loads(capsys.readouterr().out)["groups"]
    assert described["members"][0]["assignment"][1] == {"topic": "t", "partition": 1}


def test_a_group_that_does_not_exist_is_an_error(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "--describe", "--group", "nope") == 1
    assert capsys.readouterr().out == (
        "\nError: Executing consumer group command failed due to"
        " org.apache.kafka.common.errors.GroupIdNotFoundException: Group nope not found.\n"
    )


@pytest.mark.parametrize(
    ("scenario", "new"),
    [
        ("--to-earliest", FIRST),
        ("--to-latest", END),
        ("--to-current", 10),
        ("--to-offset 25", 25),
        ("--to-offset 1", FIRST),
        ("--to-offset 99", END),
        ("--shift-by -2", 8),
        ("--shift-by 999", END),
        ("--to-datetime 2020-01-01T00:00:00.000", IN_BETWEEN),
        ("--to-datetime 33658-09-27T01:46:40.000", None),
        ("--by-duration PT5M", IN_BETWEEN),
    ],
)
def test_every_scenario_of_a_reset(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], scenario: str, new: int | None
) -> None:
    args = ["--reset-offsets", "--group", "g", "--topic", "t:0", "--execute", *scenario.split()]
    code = run(broker, *args)
    commits = [request for request in broker.asked if isinstance(request, OffsetCommitRequest)]
    if new is None:  # a year that is none
        assert (code, commits) == (1, [])
        return
    assert code == 0
    (partition,) = commits[0].topics[0].partitions
    assert partition.committed_offset == new
    head = f"{'GROUP':<15} {'TOPIC':<15} PARTITION  NEW-OFFSET"
    assert capsys.readouterr().out == f"\n{head}\n{'g':<15} {'t':<15} {0:<10} {new}\n"


def test_a_dry_run_commits_nothing_and_exports_a_plan_that_can_be_read(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    args = ["--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--export"]
    assert run(broker, *args, "--dry-run") == 0
    plan = tmp_path / "plan.csv"
    plan.write_text(capsys.readouterr().out.strip())
    assert read_plan(str(plan), "g") == {"g": {("t", 0): FIRST, ("t", 1): FIRST}}
    assert not any(isinstance(request, OffsetCommitRequest) for request in broker.asked)
    assert run(broker, "--reset-offsets", "--group", "g", "--from-file", str(plan)) == 0
    printed = capsys.readouterr()
    assert printed.out.count(f" {FIRST}\n") == 2
    assert "the --execute option is missing" in printed.err


def test_partitions_that_do_not_exist_are_not_reset(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--reset-offsets", "--group", "g", "--topic", "t:7", "--to-latest", "--execute"]
    assert run(broker, *args) == 1
    assert "t-7" in capsys.readouterr().err


def test_delete_tells_of_each_group_what_became_of_it(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        DeletableGroupResult(group_id="g"),
        DeletableGroupResult(group_id="busy", error_code=ErrorCode.NON_EMPTY_GROUP),
    ]
    broker.scripts[ApiKey.DELETE_GROUPS] = lambda _r, _v: DeleteGroupsResponse(results=rows)
    assert run(broker, "--delete", "--group", "g", "--group", "busy") == 1
    assert capsys.readouterr().out == (
        "\nError: Deletion of some consumer groups failed:\n"
        "* Group 'busy' could not be deleted due to:"
        " org.apache.kafka.common.errors.GroupNotEmptyException: The group is not empty.\n"
        "\nThese consumer groups were deleted successfully: 'g'\n"
    )


def test_lists_leave_out_groups_that_are_not_of_consumers(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        ListedGroup(
            group_id="g", protocol_type="consumer", group_state="Empty", group_type="classic"
        ),
        ListedGroup(
            group_id="w", protocol_type="connect", group_state="Stable", group_type="classic"
        ),
    ]
    broker.scripts[ApiKey.LIST_GROUPS] = lambda _r, _v: ListGroupsResponse(groups=rows)
    assert run(broker, "--list") == 0
    assert capsys.readouterr().out == "g\n"
    assert run(broker, "--list", "--state", "empty,STABLE", "--type") == 0
    asked = broker.asked[-1]
    assert isinstance(asked, ListGroupsRequest)
    assert asked.states_filter == ["Empty", "Stable"]
    head = f"{'GROUP':<25} {'TYPE':<20} {'STATE':<20}"
    line = f"{'g':<25} {'Classic':<20} {'Empty':<20}"
    assert capsys.readouterr().out == f"{head}\n{line}\n"
    assert main(["groups", "--list", "--bootstrap-server", broker.address, "-o", "json"]) == 0
    names = [group["group"] for group in json.loads(capsys.readouterr().out)["groups"]]
    assert sorted(names) == ["g", "w"]


@pytest.mark.parametrize(
    "args",
    [
        "",
        "--list --describe",
        "--describe",
        "--describe --group g --all-groups",
        "--describe --group g --members --state",
        "--describe --group g --state stable",
        "--describe --group g --topic t",
        "--list --state nonsense",
        "--list --members",
        "--list --group g",
        "--delete --group g --topic t",
        "--delete-offsets --group g",
        "--reset-offsets --group g --topic t",
        "--reset-offsets --group g --to-latest",
        "--reset-offsets --group g --topic t --to-latest --to-earliest",
        "--reset-offsets --group g --topic t --to-latest --dry-run --execute",
        "--reset-offsets --group g --topic t:x --to-latest",
        "--reset-offsets --group g --topic t:1 --shift-by 5",
    ],
)
def test_options_that_make_no_sense_together_are_refused(broker: ScriptedBroker, args: str) -> None:
    assert run(broker, *args.split()) == 2


def test_times_and_durations_are_read_as_java_reads_them() -> None:
    assert parse_datetime("1970-01-01T00:00:01.500") == 1500
    assert parse_datetime("1970-01-01T01:00:01.500+01:00") == 1500
    assert parse_datetime("1970-01-01T00:00:01.500Z") == 1500
    assert parse_duration("P1DT2H3M4.5S") == (((24 + 2) * 60 + 3) * 60 + 4) * 1000 + 500
    assert parse_duration("-PT5M") == parse_duration("PT-5M") == -300_000
    for text in ("", "P", "PT", "5M", "P5M", "PT5"):
        with pytest.raises(CommandFailedError):
            parse_duration(text)
    for text in ("2020-01-01", "2020-13-01T00:00:00.000", "T"):
        with pytest.raises(CommandFailedError):
            parse_datetime(text)


def test_a_plan_with_bad_lines_is_refused_with_their_number(tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("g,t,0,5\nh,t,1,7\n")
    assert read_plan(str(plan), None) == {"g": {("t", 0): 5}, "h": {("t", 1): 7}}
    plan.write_text("t,0,5\nt,one,7\n")
    with pytest.raises(CommandFailedError, match="line 2"):
        read_plan(str(plan), "g")


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("a.*b", None),
        (r"\pL+", None),
        ("(?<x>a)", None),
        ("[[:alpha:]]", None),
        ("(?=a)b", "invalid or unsupported Perl syntax"),
        ("(a", "missing closing )"),
        ("a**", "invalid nested repetition operator"),
    ],
)
def test_patterns_are_read_as_brokers_read_them(
    capsys: pytest.CaptureFixture[str], regex: str, reason: str | None
) -> None:
    assert main(["consumer-groups", "--validate-regex", regex]) == 0
    verdict = "valid" if reason is None else f"invalid: {reason}"
    assert capsys.readouterr().out == f"The regular expression `{regex}` is {verdict}.\n"
    assert main(["consumer-groups", "--validate-regex", regex, "-o", "json"]) == 0
    told = {"regex": regex, "valid": reason is None, "error": reason}
    assert json.loads(capsys.readouterr().out) == told


def test_json_stands_alone_and_what_is_worth_saying_beside_it(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    list_offsets = broker.scripts[ApiKey.LIST_OFFSETS]

    def no_record_is_later(request: ListOffsetsRequest, version: int) -> Answer:
        answer = list_offsets(request, version)
        assert isinstance(answer, ListOffsetsResponse)
        for asked, told in zip(request.topics, answer.topics, strict=True):
            for one, row in zip(asked.partitions, told.partitions, strict=True):
                row.offset = row.offset if one.timestamp < 0 else -1
        return answer

    broker.scripts[ApiKey.LIST_OFFSETS] = no_record_is_later
    reset = ("--reset-offsets", "--group", "g", "--topic", "t:0", "--dry-run", "-o", "json")
    assert run(broker, *reset, "--by-duration", "-PT1H") == 0
    printed = capsys.readouterr()
    (row,) = json.loads(printed.out)["offsets"]
    assert row["newOffset"] == END
    assert printed.err.startswith("Warn: Partition 0 from topic t is empty.")

    plan = tmp_path / "plan.csv"
    plan.write_text("other,t,0,5\n")
    assert run(broker, *reset, "--from-file", str(plan)) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"offsets": []}
    assert printed.err == "Error: No reset plan for group g found\n"

    assert run(broker, "--describe", "--group", "nope", "-o", "json") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Group nope not found." in printed.err
