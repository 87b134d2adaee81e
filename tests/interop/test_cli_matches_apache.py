"""Headrace's tools print what Apache Kafka's print, line by line, of the same Apache node."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import headrace
from tests.support.tool_jvm import ToolJvm

TOPICS = ("orders", "a.b", "zz_top", "clicks", "events-1", "events-2", "m1", "m2", "m3", "m4")
#: What changes between two looks at the same node.
VOLATILE = re.compile(
    r"(Epoch: |HighWatermark: +|^1 +\t\S+\t)\d+|\d{13}|\d+ ms ago *|(?<=Leader)\t.*", re.MULTILINE
)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A node with topics, settings, quotas, records of all codecs, transactions and groups."""
    with ApacheKafka(tmp_path_factory.mktemp("cli") / "data", heap="512M") as apache:
        _fill(apache)
        yield apache


def _fill(apache: ApacheKafka) -> None:
    server = ("--bootstrap-server", apache.bootstrap)
    for number, topic in enumerate(TOPICS):
        config = ("--config", "retention.ms=777000") if number % 2 else ()
        headrace(
            "topics", "--create", "--topic", topic, "--partitions", str(1 + number % 3),
            *config, *server,
        )  # fmt: skip
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        headrace(
            "console-producer", "--topic", "codecs", "--compression-codec", codec,
            "--reader-property", "parse.key=true", *server,
            stdin="".join(f"k{n}\tvalue {n}\n" for n in range(50)),
        )  # fmt: skip
    for alteration in (
        ("--topic", "orders", "--add-config", "cleanup.policy=[compact,delete],segment.ms=9000000"),
        ("--broker-defaults", "--add-config", "log.retention.ms=700000000"),
        ("--broker", "1", "--add-config", "log.cleaner.threads=2"),
        ("--user", "alice", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=pw]"),
        ("--user", "alice", "--client", "c1", "--add-config", "request_percentage=50"),
        ("--user-defaults", "--add-config", "producer_byte_rate=7000,consumer_byte_rate=8000"),
        ("--ip", "10.0.0.1", "--add-config", "connection_creation_rate=5"),
        ("--client-metrics", "m", "--add-config", "interval.ms=5000,metrics=a"),
        ("--group", "g", "--add-config", "consumer.session.timeout.ms=46000"),
    ):
        headrace("configs", "--alter", *alteration, *server)
    _write_transactions(apache)
    _join_groups(apache)


def _write_transactions(apache: ApacheKafka) -> None:
    producer = Producer({"bootstrap.servers": apache.bootstrap, "transactional.id": "t"})
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        producer.produce("orders", f"v{number}", "key", headers=[("h", b"x")], partition=0)
        assert producer.flush(20) == 0
        if number % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()


def _join_groups(apache: ApacheKafka) -> None:
    for protocol in ("classic", "consumer"):
        consumer = Consumer(
            {
                "bootstrap.servers": apache.bootstrap,
                "group.id": f"group-{protocol}",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        while (message := consumer.poll(10)) is None or message.error() is not None:
            assert message is not None, "no record within 10 s"
        consumer.commit(asynchronous=False)
        consumer.close()


def same(ours: tuple[str, ...], theirs: tuple[str, ...], tools: ToolJvm) -> None:
    mine = headrace(*ours, check=False)
    apaches = tools.run(*theirs, check=False)
    assert _lines(mine.stdout) == _lines(apaches.stdout), ours
    assert mine.returncode == apaches.returncode, mine.stderr


def _lines(text: str) -> list[str]:
    return VOLATILE.sub(r"\1#", text).splitlines()


_LOOKS = {
    ("topics", "TopicCommand"): """
        --list
        --list --exclude-internal
        --list --topic m.*,a.b
        --describe
        --describe --exclude-internal
        --describe --topics-with-overrides
        --describe --topic events-.*
        --describe --under-replicated-partitions
        --describe --unavailable-partitions
        --describe --under-min-isr-partitions
        --describe --at-min-isr-partitions
        --describe --partition-size-limit-per-response 1
        --describe --topic nope --if-exists
        --create --topic orders --if-not-exists
        --delete --topic nope --if-exists
    """,
    ("get-offsets", "GetOffsetShell"): """
        --time latest
        --time -2 --exclude-internal-topics
        --topic-partitions orders,codecs:0,m.:1-
        --topic m.* --partitions 0,2
        --time max-timestamp --topic codecs
        --time 1 --topic codecs
        --time -4 --topic codecs
        --time -5 --topic codecs
        --time nonsense
        --topic nope
    """,
    ("configs", "ConfigCommand"): """
        --describe --topic orders
        --describe --topic orders --all
        --describe --topic nope
        --describe --entity-type topics
        --describe --entity-type brokers
        --describe --entity-type brokers --entity-default
        --describe --broker 1
        --describe --broker 1 --all
        --describe --broker 9
        --describe --user alice
        --describe --entity-type users
        --describe --user alice --client c1
        --describe --entity-type users --entity-type clients
        --describe --user-defaults
        --describe --ip 10.0.0.1
        --describe --entity-type ips
        --describe --client-metrics m
        --describe --entity-type client-metrics
        --describe --group g
        --describe --group nope
        --describe --entity-type groups
        --describe --broker-logger 1
        --alter --topic m1 --add-config flush.ms=5,max.message.bytes=1000
        --alter --topic m1 --delete-config flush.ms,max.message.bytes
        --alter --broker-defaults --add-config log.retention.ms=700000000
        --alter --client c2 --add-config producer_byte_rate=5
        --alter --broker-logger 1 --add-config kafka.server.KafkaApis=DEBUG
    """,
    ("log-dirs", "LogDirsCommand"): """
        --describe
        --describe --broker-list 1 --topic-list orders,codecs
        --describe --broker-list 1,5
    """,
    ("broker-api-versions", "BrokerApiVersionsCommand"): "--command-config {empty}",
}
_SUBCOMMANDS = {
    ("cluster", "ClusterTool"): """
        cluster-id {server}
        cluster-id {controller}
        list-endpoints {server}
        list-endpoints {server} --include-fenced-brokers
        list-endpoints {controller}
    """,
    ("features", "FeatureCommand"): """
        {server} describe
        {controller} describe
        {server} describe --node-id 1
        {server} upgrade --feature group.version=1
        {server} upgrade --feature nope=1
        {server} upgrade --release-version 4.2-IV0 --dry-run
        {server} downgrade --feature share.version=0 --dry-run
        {server} disable --feature share.version --dry-run
        version-mapping
        version-mapping --release-version 3.9
        feature-dependencies --feature eligible.leader.replicas.version=1
        feature-dependencies --feature metadata.version=30
        feature-dependencies --feature nope=1
    """,
    ("metadata-quorum", "MetadataQuorumCommand"): """
        {server} describe --status
        {controller} describe --status
        {server} describe --replication
        {controller} describe --replication --human-readable
    """,
}


def _cases(scripts: dict[tuple[str, str], str]) -> list[tuple[str, str, str]]:
    return [
        (ours, theirs, line.strip())
        for (ours, theirs), script in scripts.items()
        for line in script.strip().splitlines()
    ]


@pytest.mark.parametrize(("ours", "theirs", "line"), _cases(_LOOKS))
def test_a_tool_prints_the_same(
    node: ApacheKafka, tools: ToolJvm, tmp_path: Path, ours: str, theirs: str, line: str
) -> None:
    empty = tmp_path / "empty.properties"
    empty.touch()
    args = ("--bootstrap-server", node.bootstrap, *line.format(empty=empty).split())
    if ours == "get-offsets" and "nonsense" in line:
        expected = tools.run(theirs, *args, check=False)
        assert headrace(ours, *args, check=False).stderr == expected.stderr
        return
    same((ours, *args), (theirs, *args), tools)


@pytest.mark.parametrize(("ours", "theirs", "line"), _cases(_SUBCOMMANDS))
def test_a_tool_with_subcommands_prints_the_same(
    node: ApacheKafka, tools: ToolJvm, ours: str, theirs: str, line: str
) -> None:
    server = f"--bootstrap-server {node.bootstrap}"
    controller = f"--bootstrap-controller 127.0.0.1:{node.controller_port}"
    args = tuple(line.format(server=server, controller=controller).split())
    same((ours, *args), (theirs, *args), tools)


@pytest.mark.parametrize(
    "properties",
    [
        "",
        "print.key=true print.offset=true print.partition=true print.timestamp=true",
        "print.headers=true print.key=true print.value=false key.separator=|",
    ],
)
def test_the_console_consumer_prints_the_same(
    node: ApacheKafka, tools: ToolJvm, properties: str
) -> None:
    args = [
        *("--bootstrap-server", node.bootstrap, "--topic", "codecs", "--partition", "0"),
        *("--offset", "earliest", "--max-messages", "60"),
    ]
    for assignment in properties.split():
        args += ["--formatter-property", assignment]
    ours = headrace("console-consumer", *args).stdout
    theirs = tools.run("ConsoleConsumer", *args).stdout
    assert ours.splitlines() == theirs.splitlines()


def test_committed_readers_see_the_same(node: ApacheKafka, tools: ToolJvm) -> None:
    args = [
        *("--bootstrap-server", node.bootstrap, "--topic", "orders", "--partition", "0"),
        *("--offset", "earliest", "--max-messages", "2", "--isolation-level", "read_committed"),
    ]
    ours = headrace("console-consumer", *args).stdout
    assert ours.splitlines() == ["v0", "v2"]
    assert ours == tools.run("ConsoleConsumer", *args).stdout


#: Each with a topic of its own; figures are masked, their number of decimals is not.
_MEASUREMENTS = {
    ("producer-perf-test", "ProducerPerformance"): """
        {server} --topic {to} --num-records 50 --record-size 10 --throughput -1
        {server} --topic {to} --num-records 50 --payload-monotonic --throughput 900
        {server} --topic {to} --num-records 9 --record-size 9 --throughput 90 --warmup-records 4
        {server} --topic {to} --num-records 9 --record-size 9 --throughput -1 --transactional-id t
    """,
    ("consumer-perf-test", "ConsumerPerformance"): """
        {server} --topic codecs --num-records 50
        {server} --topic codecs --num-records 50 --hide-header --date-format HH:mm
    """,
    ("e2e-latency", "EndToEndLatency"): """
        {server} --topic {to} --num-records 3 --producer-acks all --record-size 10
        {address} {to} 3 1 10
    """,
}


@pytest.mark.parametrize(("ours", "theirs", "line"), _cases(_MEASUREMENTS))
def test_a_tool_that_measures_prints_the_same(
    node: ApacheKafka, tools: ToolJvm, ours: str, theirs: str, line: str
) -> None:
    server = f"--bootstrap-server {node.bootstrap}"
    args = {
        who: line.format(server=server, address=node.bootstrap, to=f"of-{who}").split()
        for who in ("us", "apache")
    }
    mine = headrace(ours, *args["us"]).stdout
    apaches = tools.run(theirs, *args["apache"]).stdout
    assert _masked(mine.replace("of-us", "of-apache")) == _masked(apaches)


def _masked(text: str) -> list[str]:
    text = re.sub(r"\t[\d.]+", "\t0.0", text)  # of these Java prints as many decimals as there are
    text = re.sub(r"(?<![\d.])\d+(?![\d.]*th)", "0", text)
    return re.sub(
        r"(?<=\.)\d+(?!\d*th)", lambda decimals: "0" * len(decimals[0]), text
    ).splitlines()


def test_deleted_records_are_told_the_same(
    node: ApacheKafka, tools: ToolJvm, tmp_path: Path
) -> None:
    offsets = tmp_path / "offsets.json"
    offsets.write_text(
        '{"partitions": [{"topic": "codecs", "partition": 0, "offset": 1}], "version": 1}'
    )
    args = ("--bootstrap-server", node.bootstrap, "--offset-json-file", str(offsets))
    same(("delete-records", *args), ("DeleteRecordsCommand", *args), tools)


def test_topics_are_created_altered_and_deleted_the_same(node: ApacheKafka, tools: ToolJvm) -> None:
    server = ("--bootstrap-server", node.bootstrap)
    for line in (
        "--create --topic {}_made --partitions 2 --config segment.bytes=2000000",
        "--alter --topic {}_made --partitions 4",
        "--create --topic {}-placed --replica-assignment 1,1,1",
        "--delete --topic {}.made",
    ):
        ours = headrace("topics", *line.format("ours").split(), *server)
        theirs = tools.run("TopicCommand", *line.format("apache").split(), *server)
        assert ours.stdout == theirs.stdout.replace("apache", "ours")


def test_dumps_of_log_files_are_the_same(node: ApacheKafka, tools: ToolJvm, tmp_path: Path) -> None:
    """Of a copy, since Apache's tool cannot read the indexes of a running broker."""
    dumped = 0
    for partition, *options in (
        ("codecs-0", "--print-data-log"),
        ("codecs-0", "--print-data-log", "--skip-record-metadata"),
        ("codecs-0", "--verify-index-only", "--max-bytes", "500"),
        ("orders-0", "--deep-iteration"),
        ("__cluster_metadata-0", "--cluster-metadata-decoder"),
        ("__cluster_metadata-0", "--deep-iteration"),
        ("__consumer_offsets-0", "--offsets-decoder"),
        ("__transaction_state-0", "--transaction-log-decoder"),
    ):
        copy = tmp_path / partition
        if not copy.exists():
            shutil.copytree(node.directory / partition, copy)
        for path in sorted(copy.iterdir()):
            if path.suffix in (".log", ".txnindex", ".snapshot", ".checkpoint"):
                args = (*options, "--files", str(path))
                ours = headrace("dump-log", *args)
                theirs = tools.run("DumpLogSegments", *args)
                assert ours.stdout.splitlines() == theirs.stdout.splitlines(), path
                dumped += len(ours.stdout)
    assert dumped > 50_000


def test_a_formatted_directory_is_told_the_same(tools: ToolJvm, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=7\n"
        "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={tmp_path}/d1,{tmp_path}/d2\n"
    )
    file = ("-c", str(config))
    same(("storage", "info", *file), ("StorageTool", "info", *file), tools)
    cluster = headrace("storage", "random-uuid").stdout.strip()
    make = ("format", "-t", cluster, "--standalone", *file)
    ours = headrace("storage", *make).stdout
    same(("storage", "info", *file), ("StorageTool", "info", *file), tools)
    for directory in ("d1", "d2"):
        shutil.rmtree(tmp_path / directory)
    # Apache's tool takes the directories in no particular order.
    theirs = tools.run("StorageTool", *make).stdout
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    same(("storage", "info", *file), ("StorageTool", "info", *file), tools)
    again = (*make, "--ignore-formatted")
    same(("storage", *again), ("StorageTool", *again), tools)
