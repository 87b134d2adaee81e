"""Numbers from Spark's progress reports."""

from typing import Any

from headrace.spark.pipelines.statistics import Statistics, parse_ms
from headrace.spark.pipelines.status import RunStatus

_START = parse_ms("2026-11-16T04:00:00.000Z")


def progress(batch_id: int, second: int, rows: int, **more: Any) -> dict[str, Any]:
    """As Spark 4.3 reports it."""
    return {
        "timestamp": f"2026-11-16T04:00:{second:02}.000Z",
        "batchId": batch_id,
        "batchDuration": 500,
        "numInputRows": rows,
        "durationMs": {"addBatch": 400, "triggerExecution": 500},
        "stateOperators": [],
        "sources": [{"endOffset": {"t": {"0": batch_id * 10}}}],
        "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
        **more,
    }


def test_sums_and_the_last_offsets() -> None:
    numbers = Statistics(_START)
    numbers.add(progress(3, 1, 100))
    numbers.add(progress(4, 2, 50))
    assert (numbers.batches, numbers.rows_in, numbers.rows_out) == (2, 150, None)
    assert numbers.offsets == {"t": {"0": 40}}
    assert numbers.batch_ms() == 500
    assert numbers.last is not None
    assert numbers.last.finished_ms == _START + 2_500


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    numbers = Statistics(_START)
    numbers.add(progress(0, 0, 10_000))
    assert numbers.rate(_START + 2_000) == 5_000
    numbers.add(progress(1, 20, 1_000))
    assert numbers.rate(_START + 22_000) == 500
    assert numbers.rate(_START + 40_000) == 0


def test_state_is_summed_over_operators_and_late_rows_over_batches() -> None:
    operator = {"numRowsTotal": 7, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 2}
    numbers = Statistics(_START)
    for batch_id in (0, 1):
        numbers.add(progress(batch_id, 1, 1, stateOperators=[operator, operator]))
    assert (numbers.state_rows, numbers.state_bytes, numbers.late_rows) == (14, 200, 8)


def test_two_sources_of_one_partition_count_as_far_as_the_slower_one() -> None:
    ends = [{"endOffset": {"t": {"0": 9, "1": 1}}}, {"endOffset": {"t": {"0": 4}}}]
    numbers = Statistics(_START)
    numbers.add(progress(0, 1, 1, sources=[*ends, {"endOffset": 17}, {"endOffset": None}]))
    assert numbers.offsets == {"t": {"0": 4, "1": 1}}


def test_the_status_is_plain_json_with_the_lag_summed() -> None:
    status = RunStatus("orders", "orders", Statistics(_START), lag={"t": {"0": 3, "1": 4}})
    status.statistics.add(progress(0, 1, 5))
    shown = status.as_json(_START + 2_000)
    assert (shown["lag"], shown["rowsIn"], shown["stateRows"]) == (7, 5, None)
    assert shown["startedAt"] == "2026-11-16T04:00:00.000Z"
    assert shown["lastBatch"]["parts"]["addBatch"] == 400
