"""kcat, where it is installed."""

import subprocess

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.tools import missing, require_program

pytestmark = pytest.mark.interop


def kcat(node: EmbeddedKafka, *args: str, stdin: str = "") -> str:
    done = subprocess.run(
        [require_program("kcat"), "-b", node.bootstrap_servers, *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_kcat_reads_what_it_wrote(node: EmbeddedKafka, codec: str) -> None:
    if codec not in kcat(node, "-V") and codec != "none":
        missing(f"this kcat was built without {codec}")
    topic = node.topic()
    lines = "".join(f"key{number}:value {number}\n" for number in range(50))
    kcat(node, "-P", "-t", topic, "-K", ":", "-z", codec, stdin=lines)
    assert kcat(node, "-C", "-t", topic, "-e", "-q", "-f", "%k:%s\n") == lines
    assert kcat(node, "-C", "-t", topic, "-o", "47", "-e", "-q", "-f", "%o ") == "47 48 49 "


def test_kcat_lists_the_cluster(node: EmbeddedKafka) -> None:
    topic = node.topic(partitions=3)
    listing = kcat(node, "-L")
    assert "1 brokers" in listing
    assert f'topic "{topic}" with 3 partitions' in listing


def test_kcat_asks_for_an_offset_by_time(node: EmbeddedKafka) -> None:
    topic = node.topic()
    kcat(node, "-P", "-t", topic, stdin="a\nb\n")
    assert f"{topic} [0] offset 0" in kcat(node, "-Q", "-t", f"{topic}:0:1")
