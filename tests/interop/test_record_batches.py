"""Record batches, both ways: Java reads what we build, we read what Java builds, every codec."""

import re
from pathlib import Path

import pytest

from headrace.records.batch import iter_headers
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.reader import read_records
from headrace.records.record import Record
from tests.support.apache_kafka import ApacheKafka
from tests.support.java import java_tool

pytestmark = pytest.mark.no_second_chance

_RECORD = re.compile(r"\| offset: (\d+) .*? key: (\S*) payload: (.*)")
_FIRST_SEGMENT = "00000000000000000000.log"


def _lines(count: int) -> list[str]:
    """Text that compresses, but not to nothing, and in sum passes one block of any codec."""
    return [f"{number * 2_654_435_761 % 2**32:08x} record {number}" for number in range(count)]


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("count", [1, 6_000])
def test_apache_reads_the_batches_we_build(codec: Codec, count: int, tmp_path: Path) -> None:
    lines = _lines(count)
    records = [
        Record(
            offset,
            1_700_000_000_000 + offset,
            f"k{offset}".encode(),
            line.encode(),
            [("trace", b"1"), ("empty", None)],
        )
        for offset, line in enumerate(lines)
    ]
    segment = tmp_path / _FIRST_SEGMENT
    segment.write_bytes(build_batch(records, codec=codec, leader_epoch=0))
    dump = java_tool(
        "DumpLogSegments", f"--files={segment}", "--deep-iteration", "--print-data-log"
    )
    assert f"compresscodec: {codec.name.lower()}" in dump.stdout
    assert "isvalid: true" in dump.stdout
    assert _RECORD.findall(dump.stdout) == [
        (str(offset), f"k{offset}", line) for offset, line in enumerate(lines)
    ]


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name.lower())
def test_we_read_the_batches_apache_wrote(codec: Codec, apache: ApacheKafka) -> None:
    topic = f"codec-{codec.name.lower()}"
    lines = _lines(3_000)
    java_tool(
        "ConsoleProducer",
        f"--topic={topic}",
        f"--bootstrap-server={apache.bootstrap}",
        f"--compression-codec={codec.name.lower()}",
        "--batch-size=300000",
        "--timeout=200",
        stdin="".join(f"{line}\n" for line in lines),
    )
    segment = apache.directory / f"{topic}-0" / _FIRST_SEGMENT
    data = segment.read_bytes()
    assert {header.codec for _, header in iter_headers(data)} == {codec}
    records = list(read_records(data))
    assert [record.value for record in records] == [line.encode() for line in lines]
    assert [record.offset for record in records] == list(range(len(lines)))
