"""Headrace's tools for groups and transactions print what Apache's print, of the same node."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import headrace
from tests.support.tool_jvm import ToolJvm

#: What changes between two looks at the same node.
VOLATILE = re.compile(r"(?<=\t60000               \t)\d{13} *\t\d+ *")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A node with groups of both protocols, with members and without, and transactions."""
    with (
        ApacheKafka(tmp_path_factory.mktemp("cli") / "data", heap="512M") as apache,
        ExitStack() as open_clients,
    ):
        fill(apache.bootstrap, open_clients)
        yield apache


def fill(bootstrap: str, open_clients: ExitStack) -> None:
    server = ("--bootstrap-server", bootstrap)
    for topic, partitions in (("orders", 3), ("a-topic-with-a-long-name", 12), ("empty", 1)):
        headrace(
            "topics", "--create", "--topic", topic, "--partitions", str(partitions),
            "--config", "retention.ms=-1", *server,
        )  # fmt: skip
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(60):
        for topic, count in (("orders", 3), ("a-topic-with-a-long-name", 12)):
            producer.produce(topic, f"{number}", partition=number % count, timestamp=1000 + number)
    assert producer.flush(20) == 0
    for group in ("idle", "left", "a-group-with-quite-a-long-name", "gone-1", "gone-2"):
        commit(bootstrap, group)
    for group, protocol, settings in (
        ("classic-members", "classic", {"group.instance.id": "instance-1"}),
        ("consumer-members", "consumer", {}),
    ):
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.protocol": protocol,
                "client.id": f"client-of-{protocol}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **settings,
            }
        )
        open_clients.callback(consumer.close)
        consumer.subscribe(["orders", "a-topic-with-a-long-name"])
        while (message := consumer.poll(15)) is None or message.error() is not None:
            assert message is not None, "no record within 15 s"
        consumer.commit(
            offsets=[TopicPartition("orders", 1, 7, leader_epoch=0)], asynchronous=False
        )
    write_transactions(bootstrap, open_clients)


def commit(bootstrap: str, group: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    offsets = [TopicPartition("orders", n, 5 + n) for n in range(3)]
    offsets += [TopicPartition("a-topic-with-a-long-name", n, 1) for n in range(12)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def write_transactions(bootstrap: str, open_clients: ExitStack) -> None:
    """One transaction that is over, and one that stays open."""
    for name in ("done", "open"):
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce("empty", "v", partition=0)
        assert producer.flush(20) == 0
        if name == "done":
            producer.commit_transaction()
        else:
            open_clients.callback(producer.abort_transaction)


def lines(text: str) -> list[str]:
    return VOLATILE.sub("#", text).splitlines()


_GROUPS = """
    --list
    --list --state
    --list --type
    --list --state --type
    --list --state empty
    --list --type consumer
    --describe --group idle
    --describe --group idle --verbose
    --describe --group classic-members
    --describe --group consumer-members --verbose
    --describe --group a-group-with-quite-a-long-name --group idle --offsets
    --describe --group idle --members
    --describe --group classic-members --members
    --describe --group classic-members --members --verbose
    --describe --group consumer-members --members
    --describe --group consumer-members --members --verbose
    --describe --group idle --state
    --describe --group a-group-with-quite-a-long-name --state --verbose
    --describe --group classic-members --state
    --describe --group classic-members --state --verbose
    --describe --group consumer-members --state --verbose
    --describe --all-groups
    --describe --all-groups --members
    --describe --all-groups --state
    --describe --group nope
    --describe --group nope --state
    --reset-offsets --group idle --all-topics --to-earliest
    --reset-offsets --group idle --topic orders --to-latest --dry-run
    --reset-offsets --group idle --topic orders:0,2 --topic empty --to-offset 9999 --dry-run
    --reset-offsets --group idle --topic orders --to-offset 3 --dry-run
    --reset-offsets --group idle --topic orders --shift-by -2 --dry-run
    --reset-offsets --group idle --topic orders --shift-by 100 --dry-run
    --reset-offsets --group idle --topic orders --topic empty --to-current --dry-run
    --reset-offsets --group idle --topic orders --to-datetime 1970-01-01T00:00:01.030 --dry-run
    --reset-offsets --group idle --topic orders --to-datetime 1970-01-01T01:00:01.030+01:00
    --reset-offsets --group idle --topic orders --by-duration P1D --dry-run
    --reset-offsets --group idle --topic orders --by-duration -PT1H --dry-run
    --reset-offsets --group idle --all-topics --by-duration PT1H30M --dry-run
    --reset-offsets --group idle --all-topics --to-earliest --export --dry-run
    --reset-offsets --group idle --group left --topic orders --to-latest --export --dry-run
    --reset-offsets --group fresh --topic orders --to-latest --dry-run
    --reset-offsets --group classic-members --topic orders --to-latest --dry-run
    --reset-offsets --group left --topic orders --to-offset 4 --execute
    --describe --group left
    --delete-offsets --group left --topic orders:1
    --delete-offsets --group left --topic orders --topic nope
    --delete-offsets --group nope --topic orders
    --delete-offsets --group classic-members --topic orders
    --delete --group nope
    --delete --group classic-members --group nope
    --validate-regex a.*b
    --validate-regex (?=a)b
    --validate-regex (?<x>[[:alpha:]])\\pL+
    --validate-regex a**
    --validate-regex (a
"""
_LISTS = """
    --list
    --list --consumer
    --list --share
    --list --group-type classic
    --list --group-type consumer
    --list --protocol consumer
"""
_TRANSACTIONS = """
    list
    list --duration-filter 0
    list --transactional-id-pattern d.*
    describe --transactional-id done
    describe --transactional-id open
    describe-producers --topic empty --partition 0
    describe-producers --topic orders --partition 0
    find-hanging --topic empty
    find-hanging --broker-id 1
"""


def cases(script: str) -> list[str]:
    return [line.strip() for line in script.strip().splitlines()]


def same(tools: ToolJvm, ours: str, theirs: str, bootstrap: str, line: str) -> None:
    args = ("--bootstrap-server", bootstrap, *line.split())
    mine = headrace(ours, *args, check=False)
    apaches = tools.run(theirs, *args, check=False)
    our_lines, their_lines = lines(mine.stdout), lines(apaches.stdout)
    if line.count("--group ") > 1:
        # Java keeps them in a set whose order differs from one virtual machine to the next.
        our_lines.sort()
        their_lines.sort()
    assert our_lines == their_lines, mine.stderr


@pytest.mark.parametrize("line", cases(_GROUPS))
def test_consumer_groups_prints_the_same(node: ApacheKafka, tools: ToolJvm, line: str) -> None:
    same(tools, "consumer-groups", "ConsumerGroupCommand", node.bootstrap, line)


@pytest.mark.parametrize("line", cases(_LISTS))
def test_groups_prints_the_same(node: ApacheKafka, tools: ToolJvm, line: str) -> None:
    same(tools, "groups", "GroupsCommand", node.bootstrap, line)


@pytest.mark.parametrize("line", cases(_TRANSACTIONS))
def test_transactions_prints_the_same(node: ApacheKafka, tools: ToolJvm, line: str) -> None:
    same(tools, "transactions", "TransactionsCommand", node.bootstrap, line)


def test_deleted_groups_are_told_the_same(node: ApacheKafka, tools: ToolJvm) -> None:
    args = ("--bootstrap-server", node.bootstrap, "--delete", "--group")
    ours = headrace("consumer-groups", *args, "gone-1").stdout
    theirs = tools.run("ConsumerGroupCommand", *args, "gone-2").stdout
    assert ours == theirs.replace("gone-2", "gone-1")


def test_a_plan_that_one_tool_exports_is_executed_by_the_other(
    node: ApacheKafka, tools: ToolJvm, tmp_path: Path
) -> None:
    server = ("--bootstrap-server", node.bootstrap, "--reset-offsets", "--group", "idle")
    scope = ("--topic", "orders", "--to-offset", "4", "--export", "--dry-run")
    plan = tmp_path / "plan.csv"
    plan.write_text(tools.run("ConsumerGroupCommand", *server, *scope).stdout.strip() + "\n")
    ours = headrace("consumer-groups", *server, "--from-file", str(plan), "--dry-run").stdout
    theirs = tools.run("ConsumerGroupCommand", *server, "--from-file", str(plan), "--dry-run")
    assert lines(ours) == lines(theirs.stdout)
    assert ours.count("orders") == 3


_FORMATTERS = (
    ("__consumer_offsets", "OffsetsMessageFormatter"),
    ("__consumer_offsets", "GroupMetadataMessageFormatter"),
    ("__transaction_state", "TransactionLogMessageFormatter"),
)


@pytest.mark.parametrize(("topic", "formatter"), _FORMATTERS)
def test_records_of_coordinators_are_printed_the_same(
    node: ApacheKafka, tools: ToolJvm, topic: str, formatter: str
) -> None:
    args = (
        *("--bootstrap-server", node.bootstrap, "--topic", topic, "--from-beginning"),
        *("--timeout-ms", "4000", "--formatter", f"org.apache.kafka.tools.consumer.{formatter}"),
    )
    ours = headrace("console-consumer", *args, check=False).stdout
    theirs = tools.run("ConsoleConsumer", *args, check=False).stdout
    assert ours.startswith('{"key":{"type":')
    assert documents(ours) == documents(theirs)


def documents(text: str) -> list[str]:
    """The JSON documents, sorted, but for the group that Apache's consumer makes for itself."""
    one_a_line = re.sub(r'(?<=[}l])}{"key"', '}\n{"key"', text)
    return sorted(line for line in one_a_line.splitlines() if "console-consumer" not in line)
