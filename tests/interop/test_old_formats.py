"""Apache Kafka's dump reads what our compaction leaves of data from before 0.11."""

import re
from pathlib import Path

import pytest

from headrace.records.codecs import Codec
from tests.support.java import java_tool
from tests.support.tools import require_java
from tests.unit.log.cleaner.old_messages import contents, message, old_log, wrapper
from tests.unit.log.cleaner.samples import compact, put, roll

pytestmark = pytest.mark.no_second_chance

_RECORD = re.compile(r"^\| offset: (\d+) .*key: (\S+) payload: (\S+)$", re.MULTILINE)
_CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


def test_apache_kafka_reads_what_is_left_of_old_messages(tmp_path: Path) -> None:
    require_java()
    old = message(0, 0, b"a", b"1") + message(1, 1, b"kept", b"2")
    offset = 2
    for magic in (0, 1):
        for codec in _CODECS:
            name = f"{magic}-{codec}".encode()
            pairs = [(b"a", b"3"), (name, b"4"), (b"a", b"5"), (name + b"+", b"6"), (b"a", b"7")]
            old += wrapper(magic, offset, *pairs, codec=codec)
            offset += len(pairs)
    log = old_log(tmp_path, old)
    put(log, (b"a", b"8"))
    roll(log)
    compact(log)
    expected = contents(log)
    assert len(expected) == 2 + 2 * 2 * len(_CODECS)
    segment = log.segments[0].file.path
    dump = java_tool(
        "DumpLogSegments", f"--files={segment}", "--deep-iteration", "--print-data-log"
    ).stdout
    assert "isvalid: false" not in dump
    assert [
        (int(offset), key.encode(), value.encode()) for offset, key, value in _RECORD.findall(dump)
    ] == expected
    assert [codec.name.lower() for codec in _CODECS] == list(
        dict.fromkeys(re.findall(r"compresscodec: (gzip|snappy|lz4)", dump))
    )
