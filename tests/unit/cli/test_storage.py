"""`headrace storage`: what it writes and what it says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from headrace.base.uuids import parse_uuid
from headrace.cli.main import main
from headrace.log.meta_properties import read_meta_properties
from headrace.metadata.bootstrap import decode_bootstrap
from headrace.metadata.records import FeatureLevelRecord, UserScramCredentialRecord

CLUSTER = "NB-nnOsoTpCspebr3EaDWg"
OTHER = "ooYApTGOQUuMo_J8NSfpRw"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(
        "process.roles=broker,controller\nnode.id=7\n"
        "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={tmp_path}/d1,{tmp_path}/d2\n"
    )
    return path


def storage(command: str, config: Path, *args: str) -> int:
    return main(["storage", command, "-c", str(config), *args])


def test_a_random_uuid_is_a_cluster_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["storage", "random-uuid"]) == 0
    assert len(parse_uuid(capsys.readouterr().out.strip())) == 16


def test_format_then_info(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert storage("info", config) == 1
    first, second = config.parent / "d1", config.parent / "d2"
    assert f"  {first} does not exist\n" in capsys.readouterr().out
    assert storage("format", config, "-t", CLUSTER, "--standalone") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "Bootstrap metadata: BootstrapMetadata(records=[ApiMessageAndVersion"
    )
    assert lines[1:] == [
        f"Formatting dynamic metadata voter directory {first} with metadata.version 4.3-IV0.",
        f"Formatting data directory {second} with metadata.version 4.3-IV0.",
    ]
    assert storage("info", config) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Found log directories:\n  {first}\n  {second}\n\nFound metadata: {{")
    properties = read_meta_properties(str(first))
    assert properties is not None
    assert (properties.cluster_id, properties.node_id) == (CLUSTER, 7)
    voters = first / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"
    assert voters.is_file()


def test_a_metadata_directory_of_its_own_is_formatted_too(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata = config.parent / "metadata"
    with config.open("a", encoding="utf-8") as file:
        file.write(f"metadata.log.dir={metadata}\n")
    assert storage("format", config, "-t", CLUSTER, "--standalone") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" with ")[0] for line in lines[1:]] == [
        f"Formatting data directory {config.parent / 'd1'}",
        f"Formatting data directory {config.parent / 'd2'}",
        f"Formatting dynamic metadata voter directory {metadata}",
    ]
    properties = read_meta_properties(str(metadata))
    assert properties is not None
    assert (properties.cluster_id, properties.node_id) == (CLUSTER, 7)


def test_what_is_printed_is_json_on_request(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed() -> dict[str, object]:
        document: dict[str, object] = json.loads(capsys.readouterr().out)
        return document

    directories = [str(config.parent / name) for name in ("d1", "d2")]
    assert storage("info", config, "-o", "json") == 1
    problems = [f"{directory} does not exist" for directory in directories]
    assert printed() == {"logDirs": [], "metadata": None, "problems": problems}
    assert storage("format", config, "-t", CLUSTER, "--standalone") == 0
    capsys.readouterr()
    assert storage("info", config, "-o", "json") == 0
    info = printed()
    assert (info["logDirs"], info["problems"]) == (directories, [])
    assert isinstance(info["metadata"], dict)
    assert (info["metadata"]["cluster.id"], info["metadata"]["node.id"]) == (CLUSTER, 7)
    assert main(["storage", "random-uuid", "-o", "json"]) == 0
    assert len(parse_uuid(str(printed()["uuid"]))) == 16
    assert main(["storage", "version-mapping", "-r", "4.3-IV0", "-o", "json"]) == 0
    levels = printed()["features"]
    assert isinstance(levels, dict)
    assert levels["metadata.version"] == 30
    needs = ["feature-dependencies", "-f", "eligible.leader.replicas.version=1", "-o", "json"]
    assert main(["storage", *needs]) == 0
    row = {"feature": "eligible.leader.replicas.version", "level": 1}
    assert printed() == {"features": [{**row, "requires": {"metadata.version": 23}}]}


def test_what_is_formatted_is_not_formatted_again(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert storage("format", config, "-t", CLUSTER, "--standalone") == 0
    before = (config.parent / "d1" / "meta.properties").read_text()
    assert storage("format", config, "-t", CLUSTER, "--standalone") == 1
    assert "is already formatted. Use --ignore-formatted" in capsys.readouterr().err
    assert storage("format", config, "-t", CLUSTER, "--standalone", "-g") == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert storage("format", config, "-t", OTHER, "--standalone", "-g") == 1
    assert f"Expected {OTHER}, but read {CLUSTER}" in capsys.readouterr().err
    assert (config.parent / "d1" / "meta.properties").read_text() == before


def test_scram_and_features_are_first_records(config: Path) -> None:
    args = ["--standalone", "-S", "SCRAM-SHA-256=[name=alice,password=pw]"]
    assert storage("format", config, "-t", CLUSTER, *args, "-f", "share.version=0") == 0
    records = decode_bootstrap((config.parent / "d2" / "bootstrap.checkpoint").read_bytes())
    levels = {r.name: r.feature_level for r in records if isinstance(r, FeatureLevelRecord)}
    assert levels["metadata.version"] == 30
    assert "share.version" not in levels
    assert [r.name for r in records if isinstance(r, UserScramCredentialRecord)] == ["alice"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["-t", CLUSTER], "you must specify one of the following: --standalone"),
        (["-t", "short", "-s"], "does not appear to be a valid UUID"),
        (["-t", CLUSTER, "-s", "-r", "9.9"], "Unknown metadata.version '9.9'"),
        (["-t", CLUSTER, "-s", "-f", "foo.version=1"], "Unsupported feature: foo.version"),
        (["-t", CLUSTER, "-s", "-f", "kraft.version=0"], "Cannot set kraft.version to 0"),
        (["-t", CLUSTER, "-s", "-f", "group.version=7"], "group.version with feature level 7"),
        (
            ["-t", CLUSTER, "-s", "-r", "3.9", "-f", "eligible.leader.replicas.version=1"],
            "depends on metadata.version level 23",
        ),
        (["-t", CLUSTER, "-I", "7@localhost"], "id@host:port:directory"),
    ],
)
def test_what_cannot_be_formatted_is_told_and_nothing_is_written(
    config: Path, capsys: pytest.CaptureFixture[str], args: list[str], sentence: str
) -> None:
    assert storage("format", config, *args) == 1
    assert sentence in capsys.readouterr().err
    assert not (config.parent / "d1").exists()


def test_a_static_quorum_needs_no_flag(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = config.read_text().replace("bootstrap.servers=", "voters=7@")
    config.write_text(text)
    assert storage("format", config, "-t", CLUSTER) == 0
    assert "Formatting metadata directory" in capsys.readouterr().out
    assert storage("format", config, "-t", CLUSTER, "-s") == 1


def test_the_environment_overrides_the_file(
    config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKA_LOG_DIRS", str(tmp_path / "elsewhere"))
    assert storage("format", config, "-t", CLUSTER, "-s") == 0
    assert (tmp_path / "elsewhere" / "meta.properties").is_file()


def test_version_mapping_and_dependencies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["storage", "version-mapping", "-r", "3.9"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "metadata.version=21 (3.9)",
        "kraft.version=1",
        "transaction.version=0",
        "group.version=0",
        "eligible.leader.replicas.version=0",
        "share.version=0",
        "streams.version=0",
    ]
    feature = "eligible.leader.replicas.version=1"
    assert main(["storage", "feature-dependencies", "-f", feature]) == 0
    expected = f"{feature} requires:\n    metadata.version=23 (4.0-IV1)\n"
    assert capsys.readouterr().out == expected


def test_the_cluster_id_may_come_from_the_environment(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit):
        storage("format", config, "--standalone")
    monkeypatch.setenv("CLUSTER_ID", CLUSTER)
    assert storage("format", config, "--standalone", "-t", OTHER) == 0
    identity = read_meta_properties(str(tmp_path / "d1"))
    assert identity is not None
    assert identity.cluster_id == OTHER
    for directory in ("d1", "d2"):
        shutil.rmtree(tmp_path / directory)
    assert storage("format", config, "--standalone") == 0
    identity = read_meta_properties(str(tmp_path / "d1"))
    assert identity is not None
    assert identity.cluster_id == CLUSTER
