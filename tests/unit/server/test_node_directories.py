"""A node's metadata directory: locked, this node's own, and not without its log."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.client.blocking import KafkaClient
from headrace.log.directories import DataDirectoryError
from headrace.log.directory_lock import is_locked
from headrace.log.meta_properties import read_meta_properties, write_meta_properties
from headrace.server.config import NodeConfig
from headrace.server.node import Node
from headrace.testing.topics import create_topic, list_topics
from tests.unit.server.nodes import formatted, run, use, with_client


def apart(metadata: Path) -> Mapping[str, str]:
    return {"metadata.log.dir": str(metadata)}


def create_kept(client: KafkaClient) -> None:
    create_topic(client, "kept", 2, {})


def refusal(config: NodeConfig) -> str:
    with pytest.raises(DataDirectoryError) as caught:
        asyncio.run(Node(config).start())
    return str(caught.value)


def test_two_nodes_cannot_have_the_same_metadata_directory(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata"
    first = formatted(tmp_path / "a", apart(metadata))
    (tmp_path / "b").mkdir()
    shutil.copy(tmp_path / "a" / "meta.properties", tmp_path / "b")
    second = NodeConfig.for_development(str(tmp_path / "b"), 0, apart(metadata))

    async def story(node: Node) -> None:
        with pytest.raises(DataDirectoryError, match=rf"Another node is using .* {metadata}\."):
            await Node(second).start()
        await with_client(node, create_kept)

    run(first, story)
    # The stop has let go of it, and so has the start that was refused.
    assert not any(is_locked(str(tmp_path / name)) for name in ("a", "b", "metadata"))
    assert use(second, list_topics) == ["kept"]


def test_a_metadata_directory_of_another_cluster_is_refused_and_no_partition_is_touched(
    tmp_path: Path,
) -> None:
    ours = formatted(tmp_path / "a", apart(tmp_path / "ours"))
    use(ours, create_kept)
    theirs = formatted(tmp_path / "b", apart(tmp_path / "theirs"))
    mixed = NodeConfig.for_development(str(tmp_path / "a"), 0, apart(tmp_path / "theirs"))
    assert re.fullmatch(
        rf"The metadata directory {tmp_path / 'theirs'} belongs to cluster \S+,"
        r" not to cluster \S+\.",
        refusal(mixed),
    )
    assert (tmp_path / "a" / "kept-1").is_dir()
    assert use(theirs, list_topics) == []
    assert use(ours, list_topics) == ["kept"]


def test_a_metadata_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata"
    config = formatted(tmp_path / "data", apart(metadata))
    properties = read_meta_properties(str(metadata))
    assert properties is not None
    write_meta_properties(str(metadata), replace(properties, node_id=7), "")
    expected = f"The metadata directory {metadata} belongs to node 7, but node.id is 1."
    assert refusal(config) == expected


@pytest.mark.parametrize("is_apart", [True, False])
def test_a_node_does_not_begin_anew_when_its_metadata_directory_is_gone(
    tmp_path: Path, is_apart: bool
) -> None:
    metadata, away = tmp_path / "metadata", tmp_path / "away"
    places = f"{metadata},{tmp_path / 'data'}"
    settings = apart(metadata) if is_apart else {"log.dirs": places}
    config = formatted(tmp_path / "data", settings)
    use(config, create_kept)
    metadata.rename(away)
    metadata.mkdir()  # where a disk was to be mounted
    said = refusal(config)
    assert said.startswith(f"The metadata directory {metadata} is not formatted")
    assert list(metadata.iterdir()) == []
    metadata.rmdir()
    away.rename(metadata)
    assert use(config, list_topics) == ["kept"]


def test_a_metadata_directory_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata"
    config = formatted(tmp_path / "data", apart(metadata))
    (metadata / ".lock").mkdir()
    expected = f"The metadata directory cannot be used: Is a directory: {metadata / '.lock'}."
    assert refusal(config) == expected


def test_directories_in_another_order_do_not_change_where_the_metadata_log_is(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    config = formatted(first, {"log.dirs": f"{first},{second}"})
    use(config, create_kept)
    other = NodeConfig.for_development("", 0, {"log.dirs": f"{second},{first}"})
    expected = (
        f"The data directory {first} holds a metadata log, but the metadata directory is {second}."
    )
    assert refusal(other) == expected
    named = {"log.dirs": f"{second},{first}", **apart(first)}
    assert use(NodeConfig.for_development("", 0, named), list_topics) == ["kept"]


def test_a_link_to_a_data_directory_is_that_directory(tmp_path: Path) -> None:
    data, link = tmp_path / "data", tmp_path / "link"
    use(formatted(data), create_kept)
    link.symlink_to(data)
    config = NodeConfig.for_development(str(data), 0, apart(link))
    assert use(config, list_topics) == ["kept"]
