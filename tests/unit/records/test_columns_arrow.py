"""Records as Arrow columns: every row as the plain reader sees it."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.records.batch import find_next_offset
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.columns_arrow import NAMES, to_arrow
from headrace.records.columns_numba import decode
from headrace.records.record import Header, Record

TEXTS = st.none() | st.binary(max_size=20)
HEADERS = st.lists(st.tuples(st.text(max_size=5), TEXTS), max_size=3)
ROWS = st.lists(st.tuples(TEXTS, TEXTS, HEADERS), min_size=1, max_size=20)


def encoded(rows: list[tuple[bytes | None, bytes | None, list[Header]]], codec: int = 0) -> bytes:
    records = [
        Record(index, 1_000 + index, key, value, headers)
        for index, (key, value, headers) in enumerate(rows)
    ]
    return bytes(build_batch(records, codec=codec))


@given(ROWS, st.sampled_from([Codec.NONE, Codec.LZ4]))
def test_every_column_has_what_was_sent(
    rows: list[tuple[bytes | None, bytes | None, list[Header]]], codec: int
) -> None:
    batch = to_arrow(decode(encoded(rows, codec)), NAMES, topic="tøpic", partition=3)
    batch.validate(full=True)
    count = len(rows)
    assert batch.column("key").to_pylist() == [key for key, _, _ in rows]
    assert batch.column("value").to_pylist() == [value for _, value, _ in rows]
    assert batch.column("topic").to_pylist() == ["tøpic"] * count
    assert batch.column("partition").to_pylist() == [3] * count
    assert batch.column("offset").to_pylist() == list(range(count))
    times = [time.timestamp() * 1000 for time in batch.column("timestamp").to_pylist()]
    assert [round(time) for time in times] == [1_000 + index for index in range(count)]
    assert batch.column("timestampType").to_pylist() == [0] * count
    found = batch.column("headers").to_pylist()
    expected = [
        [{"key": name, "value": value} for name, value in headers] or None for _, _, headers in rows
    ]
    assert found == expected


def test_a_selection_of_columns_costs_no_other() -> None:
    batch = to_arrow(decode(encoded([(b"k", b"v", [])])), ("value",), topic="t", partition=0)
    assert batch.schema.names == ["value"]


def test_no_rows_are_fine_too() -> None:
    columns = decode(encoded([(b"k", b"v", [])]), start_offset=5)
    batch = to_arrow(columns, NAMES, topic="t", partition=0)
    batch.validate(full=True)
    assert batch.num_rows == 0


def test_the_offset_behind_the_last_whole_batch_is_found_without_a_walk() -> None:
    one = encoded([(None, b"a", []), (None, b"b", [])])
    assert find_next_offset(b"") is None
    assert find_next_offset(one) == 2
    assert find_next_offset(one + one[:-1]) == 2
    assert find_next_offset(one[:-1]) is None
    assert find_next_offset(bytes(100)) is None
