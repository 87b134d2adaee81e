"""Apache Kafka reads our metadata log and snapshots, and we read its, with nothing lost between.

Both nodes work on one directory in turn. What Apache Kafka knows is asked with its own tools.
"""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from headrace.base.clock import SystemClock
from headrace.base.uuids import random_uuid
from headrace.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from headrace.log.open_files import OpenFiles
from headrace.metadata.bootstrap import default_bootstrap_records, encode_bootstrap
from headrace.metadata.controller.configs import ConfigOperation, incremental_alter_configs
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.topics import create_topics, delete_topics
from headrace.metadata.image import EndpointImage, MetadataImage
from headrace.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from headrace.server.metadata_plane import MetadataPlane
from headrace.server.metadata_start import (
    MetadataConfig,
    NodeRegistration,
    activate,
    open_metadata_plane,
)
from tests.support.apache_kafka import ApacheKafka
from tests.support.java import java_tool

pytestmark = pytest.mark.no_second_chance

CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
SETTINGS = ControllerSettings(cluster_id=CLUSTER_ID)
_JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' username="alice" password="secret"'
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory as `storage format` leaves it."""
    data = tmp_path / "data"
    data.mkdir()
    clock = SystemClock()
    records = default_bootstrap_records()
    (data / "bootstrap.checkpoint").write_bytes(encode_bootstrap(records, clock.wall_ms()))
    write_meta_properties(str(data), MetaProperties(CLUSTER_ID, 1, random_uuid()), "today")
    return data


def start(directory: Path, *, previous_broker_epoch: int = -1) -> MetadataPlane:
    """Our metadata plane on a directory, as the server starts it."""
    properties = read_meta_properties(str(directory))
    assert properties is not None
    assert properties.directory_id is not None
    config = MetadataConfig(node_id=1, data_directory=str(directory), voter_ids=(1,))
    plane, loaded = open_metadata_plane(
        config, files=OpenFiles(8), clock=SystemClock(), clean=False
    )
    registration = NodeRegistration(
        incarnation_id=random_uuid(),
        broker_endpoints=(EndpointImage("PLAINTEXT", "127.0.0.1", 9092, 0),),
        controller_endpoints=(EndpointImage("CONTROLLER", "127.0.0.1", 9093, 0),),
        directory_ids=(properties.directory_id,),
        previous_broker_epoch=previous_broker_epoch,
    )
    activate(plane, loaded, SETTINGS, registration)
    return plane


async def write_topics(plane: MetadataPlane) -> None:
    topics = [
        CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name="retention.ms", value="12345")],
        )
        for name, partitions in (("one", 1), ("five", 5), ("gone", 2))
    ]
    await plane.run(lambda image: create_topics(image, SETTINGS, topics))
    gone = plane.image.topics_by_name["gone"].topic_id
    await plane.run(lambda image: delete_topics(image, [gone]))
    changes = {(4, ""): {"log.cleaner.threads": (int(ConfigOperation.SET), "2")}}
    await plane.run(lambda image: incremental_alter_configs(image, SETTINGS, changes))


async def snapshot(plane: MetadataPlane) -> None:
    await plane.snapshots.make(plane.image, plane._quorum())


def in_one_life(directory: Path, *steps: Any, previous_broker_epoch: int = -1) -> MetadataImage:
    """Start, do the steps, stop; returns the last image."""

    async def live() -> MetadataImage:
        plane = start(directory, previous_broker_epoch=previous_broker_epoch)
        for step in steps:
            await step(plane)
        await plane.close()
        return plane.image

    return asyncio.run(live())


def dump(path: Path) -> list[dict[str, Any]]:
    """The records of a file, as DumpLogSegments decodes them."""
    done = java_tool("DumpLogSegments", "--cluster-metadata-decoder", f"--files={path}")
    assert "isvalid: false" not in done.stdout
    assert "Could not decode" not in done.stdout
    assert not done.stderr
    return [json.loads(payload) for payload in re.findall(r"payload: (\{.*\})", done.stdout)]


def test_apache_kafkas_dump_decodes_every_record_we_write(directory: Path) -> None:
    in_one_life(directory, write_topics, snapshot)
    log = directory / "__cluster_metadata-0"
    (checkpoint,) = log.glob("*.checkpoint")
    types = [record["type"] for record in dump(log / ("0" * 20 + ".log"))]
    assert types[0] == "BEGIN_TRANSACTION_RECORD"
    assert types.count("PARTITION_RECORD") == 8
    assert "REMOVE_TOPIC_RECORD" in types
    records = dump(checkpoint)
    assert records[0]["data"] == {"name": "metadata.version", "featureLevel": 30}
    names = {one["data"]["name"] for one in records if one["type"] == "TOPIC_RECORD"}
    assert names == {"one", "five"}
    assert len(dump(directory / "bootstrap.checkpoint")) == 6


def test_apache_kafka_starts_on_our_log_and_we_on_its(directory: Path) -> None:
    in_one_life(directory, write_topics)
    with ApacheKafka(directory) as apache:
        described = tool(apache, "TopicCommand", "--describe")
        assert "Topic: five\t" in described
        assert "retention.ms=12345" in described
        assert "gone" not in described
        assert "Leader: none" not in described
        tool(apache, "TopicCommand", "--create", "--topic=theirs", "--partitions=3")
        tool(apache, "TopicCommand", "--delete", "--topic=one")
    image = in_one_life(directory, snapshot)
    assert sorted(image.topics_by_name) == ["five", "theirs"]
    leaders = {
        partition.leader for topic in image.topics_by_id.values() for partition in topic.partitions
    }
    assert leaders == {1}
    with ApacheKafka(directory) as apache:
        topics = tool(apache, "TopicCommand", "--list").split()
        assert topics == ["five", "theirs"]


def test_security_quotas_and_tokens_of_apache_kafka_survive_our_snapshot(directory: Path) -> None:
    apache = secured(directory)
    client = apache.work_directory / "alice.properties"
    with apache:
        write_security(apache, client)
        before = read_security(apache, client)
    for text, said in zip(
        ("User:bob", "iterations=8192", "2048", "User:alice"), before, strict=True
    ):
        assert text in said
    image = in_one_life(directory, snapshot)
    assert len(image.acls) == len(image.scram) == len(image.tokens) == 1
    remove_log(directory / "__cluster_metadata-0")
    with secured(directory, port=apache.port, sasl_port=sasl_port(apache)) as again:
        assert read_security(again, client) == before


def remove_log(log: Path) -> None:
    """Leave nothing but the snapshot, so that Apache Kafka has nothing else to read."""
    for path in log.iterdir():
        if path.suffix != ".checkpoint" and path.name not in ("quorum-state", "partition.metadata"):
            path.unlink()


def secured(
    directory: Path, *, port: int | None = None, sasl_port: int | None = None
) -> ApacheKafka:
    """Apache Kafka with an authorizer, and a listener on which tokens may be asked for."""
    from tests.support.ports import free_port

    node = ApacheKafka(directory, port=port)
    sasl = f"127.0.0.1:{sasl_port or free_port()}"
    node.settings |= {
        "listeners": (
            f"PLAINTEXT://{node.bootstrap},SASL_PLAINTEXT://{sasl},"
            f"CONTROLLER://127.0.0.1:{node.controller_port}"
        ),
        "advertised.listeners": f"PLAINTEXT://{node.bootstrap},SASL_PLAINTEXT://{sasl}",
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{_JAAS} user_alice="secret";',
        "delegation.token.secret.key": "a-secret-for-tokens",
    }
    return node


def sasl_port(node: ApacheKafka) -> int:
    found = re.search(r"SASL_PLAINTEXT://127.0.0.1:(\d+)", node.settings["listeners"])
    assert found is not None
    return int(found[1])


def write_security(apache: ApacheKafka, client: Path) -> None:
    client.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={_JAAS};\n"
    )
    tool(
        apache,
        "AclCommand",
        "--add",
        "--allow-principal=User:bob",
        "--operation=Read",
        "--topic=orders-",
        "--resource-pattern-type=prefixed",
    )
    alter = ("ConfigCommand", "--alter", "--entity-type=users", "--entity-name=bob")
    tool(apache, *alter, "--add-config=SCRAM-SHA-256=[iterations=8192,password=pw]")
    tool(apache, *alter, "--add-config=producer_byte_rate=1024")
    tool(
        apache,
        "ConfigCommand",
        "--alter",
        "--entity-type=clients",
        "--entity-default",
        "--add-config=consumer_byte_rate=2048",
    )
    token_tool(apache, client, "--create", "--max-life-time-period=-1")


def read_security(apache: ApacheKafka, client: Path) -> list[str]:
    """All that Apache Kafka says about security and quotas."""
    describe = ("ConfigCommand", "--describe")
    return [
        tool(apache, "AclCommand", "--list"),
        tool(apache, *describe, "--entity-type=users", "--entity-name=bob"),
        tool(apache, *describe, "--entity-type=clients", "--entity-default"),
        token_tool(apache, client, "--describe", "--owner-principal=User:alice"),
    ]


def tool(apache: ApacheKafka, name: str, *args: str) -> str:
    return java_tool(name, f"--bootstrap-server={apache.bootstrap}", *args).stdout


def token_tool(apache: ApacheKafka, client: Path, *args: str) -> str:
    address = f"127.0.0.1:{sasl_port(apache)}"
    return java_tool(
        "DelegationTokenCommand",
        f"--bootstrap-server={address}",
        f"--command-config={client}",
        *args,
    ).stdout
