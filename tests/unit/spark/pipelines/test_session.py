"""The settings of a run's session, and what must be there before it starts."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from headrace.spark.pipelines import requirements
from headrace.spark.pipelines.requirements import (
    RequirementError,
    check_java,
    check_pyspark,
    parse_java_version,
)
from headrace.spark.session import SessionConfig, available_cores, local_cores, session_settings


def test_shuffle_partitions_are_the_cores_of_a_local_master() -> None:
    settings = session_settings(SessionConfig("x", "local[3]"), {})
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.ui.enabled"] == "false"
    assert "RocksDB" in settings["spark.sql.streaming.stateStore.providerClass"]


def test_a_cluster_keeps_its_page_and_its_network() -> None:
    settings = session_settings(SessionConfig("x", "spark://host:7077"), {})
    assert "spark.ui.enabled" not in settings
    assert "spark.driver.host" not in settings
    assert "spark.sql.shuffle.partitions" not in settings


def test_what_the_user_says_comes_before_what_we_think() -> None:
    given = {"spark.master": "local[2]", "spark.ui.enabled": "true", "spark.x": "1"}
    config = SessionConfig("x", conf={"spark.sql.shuffle.partitions": "7", "spark.x": "2"})
    settings = session_settings(config, given)
    assert settings["spark.master"] == "local[2]"
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.sql.shuffle.partitions"] == "7"
    assert settings["spark.x"] == "2"


def test_brokers_and_registry_are_there_for_functions() -> None:
    config = SessionConfig("x", bootstrap_servers="b:1", schema_registry_url="http://r")
    settings = session_settings(config, {})
    assert settings["spark.headrace.bootstrap.servers"] == "b:1"
    assert settings["spark.headrace.schema.registry.url"] == "http://r"


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local", 1),
        ("local[*]", available_cores()),
        ("local[4]", 4),
        ("local[2,3]", 2),
        ("yarn", None),
        ("spark://localhost:7077", None),
        ("local-cluster[2,1,1024]", None),
    ],
)
def test_the_cores_of_a_master(master: str, cores: int | None) -> None:
    assert local_cores(master) == cores


# -------------------------------------------------------------------- requirements


def test_no_java_is_one_sentence_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RequirementError, match="needs Java 17 or newer, and there is none"):
        check_java()


def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RequirementError, match=r"bin/java is Java 11"):
        check_java()


@pytest.mark.parametrize(("found", "why"), [(None, "not installed"), ("4.1.1", "too old")])
def test_pyspark_missing_or_old_says_what_to_install(
    found: str | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(requirements, "version", version)
    with pytest.raises(RequirementError, match=rf'{why}.*pip install "headrace\[spark\]"'):
        check_pyspark()


@pytest.mark.parametrize("found", ["4.2.0", "4.3.0", "4.10.0", "5.0.0.dev1"])
def test_newer_versions_of_pyspark_will_do(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "version", lambda name: found)
    assert check_pyspark() == found


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no such thing", None),
    ],
)
def test_the_version_of_a_java(text: str, major: int | None) -> None:
    assert parse_java_version(text) == major
