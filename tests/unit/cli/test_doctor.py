"""What the doctor finds wrong."""

from __future__ import annotations

import errno
import importlib.util
import json
import re
import socket
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from headrace.cli import doctor_cluster, doctor_machine
from headrace.cli.doctor_cluster import check_cluster
from headrace.cli.doctor_machine import (
    LIBRARIES,
    check_java,
    check_libraries,
    check_open_files,
    check_python,
)
from headrace.cli.doctor_node import check_directories, check_node
from headrace.cli.doctor_ports import check_ports, check_ports_beside
from headrace.cli.doctor_replication import check_replication
from headrace.cli.main import main
from headrace.log.directory_lock import DirectoryLock
from headrace.log.meta_properties import MetaProperties, write_meta_properties
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from headrace.server.config import NodeConfig
from tests.support.ports import free_port
from tests.unit.client.scripted_broker import ScriptedBroker


def formatted(path: Path, node_id: int = 1, cluster_id: str = "c1") -> Path:
    path.mkdir()
    write_meta_properties(str(path), MetaProperties(cluster_id, node_id, bytes(16)), "now")
    return path


def levels(findings: list[tuple[str, str, str]]) -> set[str]:
    return {level for level, _, _ in findings}


def test_python_and_limits() -> None:
    assert check_python((3, 10, 1)).level == "wrong"
    assert check_python((3, 13, 0)).level == "ok"
    assert [check_open_files(limit).level for limit in (256, 1024, 65536)] == [
        "wrong",
        "note",
        "ok",
    ]


def test_the_libraries_are_those_that_the_package_asks_for() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    asked = {
        re.split(r"[^\w-]", line)[0] for line in tomllib.loads(text)["project"]["dependencies"]
    }
    brought_by = packages_distributions()
    assert {brought_by[name][0] for name in LIBRARIES} == asked - {"uvloop"}


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(list(check_libraries())) == {"ok"}
    find = importlib.util.find_spec
    gone = {"re2": "wrong", "uvloop": "note"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in gone else find(name)
    )
    findings = check_libraries()
    assert [finding.level for finding in findings] == list(gone.values())
    assert findings[0].text == "The library re2 is missing: pip install headrace brings it."


@pytest.mark.parametrize(
    ("java", "version", "said"),
    [
        (None, None, "No Java was found on PATH or in JAVA_HOME."),
        ("/bin/java", None, "/bin/java does not tell its version."),
        ("/bin/java", 11, "Java 11 (/bin/java) is too old."),
        ("/bin/java", 21, "Java 21 is there for Spark (/bin/java)."),
    ],
)
def test_java_is_for_spark_only(
    java: str | None, version: int | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_machine, "find_java", lambda: java)
    monkeypatch.setattr(doctor_machine, "java_version", lambda _: version)
    finding = check_java()
    assert finding.text.startswith(said)
    assert finding.level == ("ok" if version == 21 else "note")


def test_more_replicas_than_brokers(tmp_path: Path) -> None:
    asked = {"offsets.topic.replication.factor": "3", "default.replication.factor": "2"}
    config = NodeConfig.for_development(str(tmp_path), 0, asked)
    groups, topics = [finding.text for finding in check_replication(config, 1)]
    assert groups == (
        "offsets.topic.replication.factor is 3, but the cluster has 1 broker:"
        " no consumer group can start. Set it to 1."
    )
    assert topics.startswith("default.replication.factor is 2")
    assert check_replication(config, 3) == []
    (tmp_path / "__consumer_offsets-0").mkdir()
    assert len(check_replication(config, 1)) == 1  # groups have their topic already


def test_directories_of_another_node_or_cluster(tmp_path: Path) -> None:
    mine, theirs = formatted(tmp_path / "a"), formatted(tmp_path / "b", cluster_id="c2")
    _, findings = check_directories([str(mine), str(theirs)], 1)
    assert any("different clusters" in finding.text for finding in findings)
    _, findings = check_directories([str(mine)], 2)
    assert any("belongs to node 1, but node.id is 2" in finding.text for finding in findings)


def test_a_directory_that_is_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"")
    _, findings = check_directories([str(tmp_path)], 1)
    assert levels(list(findings)) == {"wrong"}
    _, findings = check_directories([str(tmp_path / "photo.jpg")], 1)
    assert "is not a directory" in findings[0].text
    _, findings = check_directories([str(tmp_path / "new")], 1)
    assert levels(list(findings)) == {"note"}


def test_a_locked_directory_and_a_taken_port(tmp_path: Path) -> None:
    directory = formatted(tmp_path / "data")
    lock = DirectoryLock(str(directory))
    assert lock.acquire()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        listeners = f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}"
        config = NodeConfig.for_development(str(directory), 0, {"listeners": listeners})
        texts = [
            finding.text for finding in check_node(config, formats=True) if finding.level == "wrong"
        ]
    lock.release()
    assert texts == [
        f"Another node is using {directory}: stop it, or give this node its own directory.",
        f"Port {port} is taken by another program. Stop it, or choose another port in listeners.",
    ]


def test_a_port_that_another_broker_has(tmp_path: Path) -> None:
    with ScriptedBroker() as broker:
        config = NodeConfig.for_development(str(tmp_path / "data"), broker.port)
        texts = [
            finding.text for finding in check_node(config, formats=True) if finding.level == "wrong"
        ]
    assert any("another Kafka broker answers there (cluster scripted)" in text for text in texts)


def test_an_advertised_address_that_cannot_be_reached() -> None:
    unreachable = MetadataResponse(
        cluster_id="c",
        brokers=[MetadataResponseBroker(node_id=3, host="127.0.0.1", port=1)],
    )
    with ScriptedBroker({ApiKey.METADATA: lambda _r, _v: unreachable}) as broker:
        findings = check_cluster(broker.address)
    assert findings[0].level == "ok"
    assert "Broker 3 advertises 127.0.0.1:1, which cannot be reached" in findings[1].text


def test_the_exit_code_says_whether_something_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ScriptedBroker() as broker:
        assert main(["doctor", "--bootstrap-server", broker.address, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"level", "subject", "text"} <= document["findings"][0].keys()
    assert main(["doctor", "--bootstrap-server", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().out.rstrip().endswith("1 thing is wrong.")


def test_a_configuration_that_is_not_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.properties"
    path.write_text("node.id=1\n")
    assert main(["doctor", "-c", str(path)]) == 1
    assert "WRONG  The configuration is not valid" in capsys.readouterr().out


def test_variables_are_part_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "many")
    assert main(["doctor", "--data", str(tmp_path / "data"), "--port", "0"]) == 1
    expected = "WRONG  The configuration is not valid: Invalid value many for configuration"
    assert f"{expected} num.partitions" in capsys.readouterr().out


def test_a_file_whose_directories_nobody_formatted_cannot_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = NodeConfig.for_development(str(tmp_path / "data"), 0)
    path = tmp_path / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in config.properties.items()))
    assert main(["doctor", "-c", str(path)]) == 1
    assert f"WRONG  {tmp_path}/data is not formatted, so the node cannot" in capsys.readouterr().out
    assert main(["doctor", "--data", str(tmp_path / "data"), "--port", "0"]) == 0  # `up` formats it
    formatted(tmp_path / "data")
    assert main(["doctor", "-c", str(path)]) == 0


def test_a_further_directory_may_be_new_but_not_that_of_the_metadata_log(tmp_path: Path) -> None:
    old, new = formatted(tmp_path / "old"), tmp_path / "new"
    both = {"log.dirs": f"{old},{new}"}
    config = NodeConfig.for_development(str(old), 0, both)
    assert "wrong" not in levels(list(check_node(config, formats=False)))
    config = NodeConfig.for_development(str(old), 0, {**both, "metadata.log.dir": str(new)})
    assert "wrong" in levels(list(check_node(config, formats=False)))


def test_a_port_for_metrics_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        asked = {"headrace.metrics.listener": f"127.0.0.1:{port}"}
        config = NodeConfig.for_development(str(tmp_path / "data"), 0, asked)
        texts = [f.text for f in check_node(config, formats=True) if f.level == "wrong"]
    name = "headrace.metrics.listener"
    assert texts == [f"Port {port} of {name} is taken by another program. Choose another port."]


def test_two_addresses_of_one_node_that_are_in_each_others_way(tmp_path: Path) -> None:
    port = free_port()
    asked = {"headrace.metrics.listener": f"127.0.0.1:{port}"}
    config = NodeConfig.for_development(str(tmp_path / "data"), port, asked)
    texts = [f.text for f in check_node(config, formats=True) if f.level == "wrong"]
    assert len(texts) == 1
    assert f"Port {port} of headrace.metrics.listener is taken by the listener" in texts[0]


def test_what_up_cannot_serve_beside_its_node_is_a_note() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (finding,) = check_ports_beside([("REST proxy", port), ("metrics", free_port())])
    assert finding.level == "note"
    assert finding.text == f"Port {port} is taken: `headrace up` starts without its REST proxy."


@pytest.mark.parametrize(
    ("host", "level"),
    [
        ("127.0.0.1", "ok"),
        ("192.0.2.7", "note"),  # for documents: nobody has it
        ("2001:db8::7", "note"),
        ("localhost", "ok"),
        ("nowhere.invalid", "wrong"),
        ("x" * 80, "wrong"),
    ],
)
def test_an_advertised_address_that_may_not_lead_here(
    host: str, level: str, tmp_path: Path
) -> None:
    shown = f"[{host}]" if ":" in host else host
    port = free_port()
    asked = {"advertised.listeners": f"PLAINTEXT://{shown}:{port}"}
    config = NodeConfig.for_development(str(tmp_path / "data"), port, asked)
    findings = check_ports(config, None)
    assert [f.level for f in findings if f.subject == "advertised address"] == [level]


def test_an_advertised_address_of_a_family_that_this_system_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    asked = {"advertised.listeners": f"PLAINTEXT://[::1]:{port}"}
    config = NodeConfig.for_development(str(tmp_path / "data"), port, asked)
    real = socket.socket

    def without_ipv6(family: int = -1, *rest: int, **named: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return real(family, *rest, **named)

    monkeypatch.setattr(socket, "socket", without_ipv6)
    findings = check_ports(config, None)
    assert [f.level for f in findings if f.subject == "advertised address"] == ["note"]


def test_a_program_that_takes_connections_and_never_answers_is_no_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor_cluster, "_REQUEST_MS", 50)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        (finding,) = check_cluster(address)
    assert finding.level == "wrong"
    assert "did not answer in time" in finding.text
