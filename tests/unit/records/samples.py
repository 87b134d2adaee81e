"""Records and batches that several tests of this package draw on."""

from hypothesis import strategies as st

from headrace.records.batch import stamp_crc
from headrace.records.builder import build_batch
from headrace.records.record import Record

CODECS = [0, 1, 2, 3, 4]

_bytes = st.none() | st.binary(max_size=80) | st.binary(min_size=100, max_size=300)
_headers = st.lists(st.tuples(st.text(max_size=12), st.none() | st.binary(max_size=20)), max_size=3)
_timestamps = st.integers(min_value=-1, max_value=1 << 45)


@st.composite
def record_lists(draw: st.DrawFn, base_offset: int = 0, gaps: bool = False) -> list[Record]:
    """One to twenty records from `base_offset` on; with `gaps`, as compaction leaves them."""
    rows = draw(st.lists(st.tuples(_timestamps, _bytes, _bytes, _headers), min_size=1, max_size=20))
    records = []
    offset = base_offset - 1
    for timestamp, key, value, headers in rows:
        offset += draw(st.integers(min_value=1, max_value=200)) if gaps else 1
        records.append(Record(offset, timestamp, key, value, headers))
    return records


def some_records(count: int = 10, base_offset: int = 0) -> list[Record]:
    """Records with and without keys, values and headers."""
    return [
        Record(
            base_offset + index,
            1_700_000_000_000 + index * 7,
            None if index % 4 == 1 else b"key-%d" % index,
            None if index % 5 == 2 else b"value %d " % index * (index % 9),
            [("trace", b"\x01\x02"), ("empty", None)] if index % 3 == 0 else [],
        )
        for index in range(count)
    ]


def keyed_records(count: int = 10, base_offset: int = 0) -> list[Record]:
    return [
        Record(base_offset + index, 1_700_000_000_000 + index, b"k%d" % index, b"v" * 50, [])
        for index in range(count)
    ]


def three_batches(codec: int = 0) -> bytes:
    """Offsets 100 to 129 in three batches of ten."""
    return b"".join(
        build_batch(some_records(10, base), base_offset=base, codec=codec)
        for base in (100, 110, 120)
    )


def renew_crc(batch: bytearray) -> bytearray:
    """Make a damaged batch pass the checksum, so that what lies behind it is tested."""
    stamp_crc(batch, 0, len(batch))
    return batch
