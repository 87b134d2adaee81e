"""Data directories: who may use them, and what a stop leaves in them."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.base.uuids import random_uuid
from headrace.log.directories import DataDirectory, DataDirectoryError
from headrace.log.directory_identity import open_directories
from headrace.log.directory_names import (
    PartitionDirectoryName,
    parse_directory_name,
    suffixed_directory_name,
)
from headrace.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties

CLUSTER = "4L6g3nShT-eMCtK--X86sw"


def formatted(path: Path, *, node_id: int = 1, cluster_id: str = CLUSTER) -> str:
    path.mkdir(parents=True, exist_ok=True)
    write_meta_properties(str(path), MetaProperties(cluster_id, node_id, random_uuid()), "today")
    return str(path)


def test_a_fresh_directory_holds_kafkas_five_files_and_the_lock(tmp_path: Path) -> None:
    (directory,) = open_directories([formatted(tmp_path)], node_id=1)
    assert sorted(os.listdir(tmp_path)) == [
        ".lock",
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]
    assert directory.online
    assert directory.directory_id is not None
    directory.close()


def test_a_second_node_hears_that_the_directory_is_in_use(tmp_path: Path) -> None:
    (directory,) = open_directories([formatted(tmp_path)], node_id=1)
    with pytest.raises(DataDirectoryError, match=f"Another node is using .* {tmp_path}"):
        open_directories([str(tmp_path)], node_id=1)
    directory.close()
    open_directories([str(tmp_path)], node_id=1)[0].close()


def test_a_lock_as_java_takes_it_is_respected(tmp_path: Path) -> None:
    path = formatted(tmp_path)
    code = (
        "import fcntl, sys\n"
        f"file = open({os.path.join(path, '.lock')!r}, 'w')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(DataDirectoryError, match="Another node"):
            open_directories([path], node_id=1)
        other.communicate(b"")
    (directory,) = open_directories([path], node_id=1)
    code = code.replace("print", "#").replace("sys.stdin", "#")
    assert subprocess.run([sys.executable, "-c", code], check=False, stderr=-3).returncode != 0
    directory.close()


def test_an_unsuccessful_attempt_does_not_free_the_lock_of_the_first(tmp_path: Path) -> None:
    (directory,) = open_directories([formatted(tmp_path)], node_id=1)
    for _ in range(2):
        with pytest.raises(DataDirectoryError):
            open_directories([str(tmp_path)], node_id=1)
    with open(tmp_path / ".lock", "w") as file, pytest.raises(BlockingIOError):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    directory.close()


@pytest.mark.parametrize(
    ("node_id", "cluster_id", "sentence"),
    [
        (2, None, "belongs to node 1, but node.id is 2"),
        (1, "another", f"belongs to cluster {CLUSTER}, not to cluster another"),
    ],
)
def test_a_directory_of_somebody_else_is_refused_in_one_sentence(
    tmp_path: Path, node_id: int, cluster_id: str | None, sentence: str
) -> None:
    path = formatted(tmp_path)
    with pytest.raises(DataDirectoryError, match=sentence) as caught:
        open_directories([path], node_id=node_id, cluster_id=cluster_id)
    assert path in str(caught.value)
    open_directories([path], node_id=1)[0].close()


def test_directories_of_two_clusters_do_not_go_together(tmp_path: Path) -> None:
    one, two = formatted(tmp_path / "1"), formatted(tmp_path / "2", cluster_id="other")
    with pytest.raises(DataDirectoryError, match="belongs to cluster other"):
        open_directories([one, two], node_id=1)


def test_a_copied_directory_id_is_noticed(tmp_path: Path) -> None:
    one = formatted(tmp_path / "1")
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "meta.properties").write_bytes((tmp_path / "1/meta.properties").read_bytes())
    with pytest.raises(DataDirectoryError, match=r"same directory\.id"):
        open_directories([one, str(tmp_path / "2")], node_id=1)


def test_a_directory_named_twice_is_noticed(tmp_path: Path) -> None:
    path = formatted(tmp_path)
    with pytest.raises(DataDirectoryError, match="twice"):
        open_directories([path, path + "/."], node_id=1)


def test_an_unformatted_directory_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="headrace storage format"):
        open_directories([str(tmp_path / "new")], node_id=1)


def test_a_new_disk_gets_the_identity_of_the_others(tmp_path: Path) -> None:
    paths = [formatted(tmp_path / "1"), str(tmp_path / "2")]
    directories = open_directories(paths, node_id=1)
    properties = read_meta_properties(paths[1])
    assert properties is not None
    assert (properties.cluster_id, properties.node_id) == (CLUSTER, 1)
    assert properties.directory_id not in (None, directories[0].directory_id)
    for directory in directories:
        directory.close()


def test_partitions_without_an_identity_are_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "2" / "orders-0").mkdir(parents=True)
    with pytest.raises(DataDirectoryError, match=r"holds partitions but no meta\.properties"):
        open_directories([formatted(tmp_path / "1"), str(tmp_path / "2")], node_id=1)


def test_a_malformed_identity_is_named(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=9\n")
    with pytest.raises(DataDirectoryError, match=r"meta\.properties.*version 9"):
        open_directories([str(tmp_path)], node_id=1)


def test_a_bad_disk_is_offline_and_the_others_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    paths = [formatted(tmp_path / "1"), str(tmp_path / "file" / "data")]
    good, bad = open_directories(paths, node_id=1)
    assert good.online
    assert not bad.online
    assert bad.failure is not None
    assert "Not a directory" in bad.failure
    good.close()


def test_no_directory_at_all_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataDirectoryError, match="None of the data directories can be used: Not a"):
        open_directories([str(tmp_path / "file" / "data")], node_id=1)


def test_the_mark_of_a_clean_stop_is_kafkas_and_serves_one_start(tmp_path: Path) -> None:
    def start() -> DataDirectory:
        return DataDirectory(str(tmp_path))

    assert start().take_clean_shutdown() == (False, -1)
    start().mark_clean_shutdown(12)
    path = tmp_path / ".kafka_cleanshutdown"
    assert path.read_text() == '{"version":0,"brokerEpoch":12}'
    directory = start()
    assert directory.take_clean_shutdown() == (True, 12)
    assert not path.exists()
    assert directory.take_clean_shutdown() == (True, 12)  # the same start, asked again
    assert start().take_clean_shutdown() == (False, -1)


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"{", b'{"brokerEpoch":null}', b"\xfb{}"])
def test_a_mark_without_an_epoch_still_marks(tmp_path: Path, text: bytes) -> None:
    (tmp_path / ".kafka_cleanshutdown").write_bytes(text)
    assert DataDirectory(str(tmp_path)).take_clean_shutdown() == (True, -1)


def test_sizes_are_those_of_the_file_system(tmp_path: Path) -> None:
    directory = DataDirectory(str(tmp_path))
    assert 0 < directory.usable_bytes() <= directory.total_bytes()


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("orders-0", ("orders", 0, "")),
        ("my-topic.v2-17", ("my-topic.v2", 17, "")),
        ("orders-delete-3", ("orders-delete", 3, "")),
        ("orders-0.5f0c2d-delete", ("orders", 0, "delete")),
        ("a-1-2.5f0c2d-stray", ("a-1", 2, "stray")),
        ("a-2.5f0c2d-future", ("a", 2, "future")),
        ("__cluster_metadata-0", ("__cluster_metadata", 0, "")),
    ],
)
def test_names_of_partitions_are_taken_apart(name: str, meaning: tuple[str, int, str]) -> None:
    assert parse_directory_name(name) == PartitionDirectoryName(*meaning)


@pytest.mark.parametrize(
    "name", ["lost+found", "orders", "orders-", "-1", "orders-x", "orders-0-delete"]
)
def test_other_names_are_nobodys(name: str) -> None:
    assert parse_directory_name(name) is None


def test_a_long_topic_is_cut_so_that_the_name_stays_legal() -> None:
    name = suffixed_directory_name("t" * 249, 99999, bytes(range(16)), "delete")
    assert len(name) == 255
    parsed = parse_directory_name(name)
    assert parsed is not None
    assert (parsed.partition, parsed.suffix) == (99999, "delete")
    plain = suffixed_directory_name("orders", 0, bytes(16), "stray")
    assert plain == "orders-0." + "0" * 32 + "-stray"
