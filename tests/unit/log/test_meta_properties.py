"""`meta.properties`: read and written as Java does."""

from pathlib import Path

import pytest

from headrace.base.uuids import parse_uuid
from headrace.log.meta_properties import (
    MetaProperties,
    decode_meta_properties,
    encode_meta_properties,
    read_meta_properties,
    write_meta_properties,
)

APACHE_TEXT = """#
#Sun Nov 15 21:55:49 UTC 2026
node.id=1
directory.id=WoOcHuLJNoWzA7R3WMY8kw
version=1
cluster.id=5L6g3nShT-eMCtK--X86sw
"""
APACHE = MetaProperties(
    "5L6g3nShT-eMCtK--X86sw", 1, parse_uuid("WoOcHuLJNoWzA7R3WMY8kw"), version=1
)


def test_the_text_is_what_apache_kafka_writes() -> None:
    assert decode_meta_properties(APACHE_TEXT) == APACHE
    assert encode_meta_properties(APACHE, "Sun Nov 15 21:55:49 UTC 2026") == APACHE_TEXT


def test_the_forms_that_java_allows_are_read() -> None:
    text = "! a comment\n  version : 1\nnode.id 7\r\ncluster.id = a\\:b\\u0041\n"
    assert decode_meta_properties(text) == MetaProperties("a:bA", 7)


def test_a_cluster_id_with_special_characters_survives() -> None:
    properties = MetaProperties("a=b:c#d\\e", 3)
    assert decode_meta_properties(encode_meta_properties(properties, "today")) == properties


def test_version_0_calls_the_node_a_broker() -> None:
    properties = decode_meta_properties("version=0\nbroker.id=4\ncluster.id=x\n")
    assert (properties.node_id, properties.version) == (4, 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version=2\nnode.id=1\ncluster.id=x", "version 2"),
        ("version=1\nnode.id=1", "no cluster.id"),
        ("version=1\ncluster.id=x", "no node.id"),
        ("version=1\nnode.id=one\ncluster.id=x", "no number"),
        ("version=1\nnode.id=1\ncluster.id=x\ndirectory.id=short", "base64url"),
    ],
)
def test_what_is_wrong_is_said(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode_meta_properties(text)


def test_a_directory_is_read_back(tmp_path: Path) -> None:
    assert read_meta_properties(str(tmp_path)) is None
    write_meta_properties(str(tmp_path), APACHE, "today")
    assert read_meta_properties(str(tmp_path)) == APACHE
    assert [entry.name for entry in tmp_path.iterdir()] == ["meta.properties"]


def test_the_path_is_named_when_the_file_is_bad(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\n")
    with pytest.raises(ValueError, match=str(tmp_path)):
        read_meta_properties(str(tmp_path))
    (tmp_path / "meta.properties").write_bytes(b"cluster.id=\xff\n")
    with pytest.raises(ValueError, match=f"{tmp_path}.* is not a text file"):
        read_meta_properties(str(tmp_path))
