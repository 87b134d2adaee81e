"""Formatting without being asked: only where nothing is that could be somebody's."""

from pathlib import Path

import pytest

from headrace.base.errors import KafkaError
from headrace.log.meta_properties import read_meta_properties
from headrace.server.config import NodeConfig
from headrace.server.development import ensure_formatted


def test_a_new_disk_and_half_a_format_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    for name in (".lock", "bootstrap.checkpoint", "meta.properties.tmp"):
        (tmp_path / name).touch()
    ensure_formatted(NodeConfig.for_development(str(tmp_path)))
    assert read_meta_properties(str(tmp_path)) is not None


def test_one_directory_with_foreign_files_keeps_all_from_being_formatted(tmp_path: Path) -> None:
    new, theirs = tmp_path / "new", tmp_path / "theirs"
    (theirs / "orders-0").mkdir(parents=True)
    config = NodeConfig.for_development("", 0, {"log.dirs": f"{new},{theirs}"})
    with pytest.raises(KafkaError, match=rf"^{theirs} holds files but no meta\.properties"):
        ensure_formatted(config)
    assert not new.exists()


def test_the_metadata_log_may_have_a_directory_of_its_own(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    config = NodeConfig.for_development(str(data), 0, {"metadata.log.dir": str(metadata)})
    ensure_formatted(config)
    identities = [read_meta_properties(str(path)) for path in (data, metadata)]
    assert len({identity.cluster_id for identity in identities if identity}) == 1
    assert None not in identities


def test_a_new_directory_belongs_to_the_cluster_that_is_named(tmp_path: Path) -> None:
    config = NodeConfig.for_development(str(tmp_path / "data"))
    with pytest.raises(KafkaError, match="The cluster id 'mine' is no UUID"):
        ensure_formatted(config, "mine")
    ensure_formatted(config, "NB-nnOsoTpCspebr3EaDWg")
    ensure_formatted(config, "ooYApTGOQUuMo_J8NSfpRw")  # it is somebody's already
    identity = read_meta_properties(str(tmp_path / "data"))
    assert identity is not None
    assert identity.cluster_id == "NB-nnOsoTpCspebr3EaDWg"
