"""A merge by columns whose names have quotes, in a real Delta table."""

from pathlib import Path
from typing import Any

import pytest

from headrace.spark.stores.batches import Batch
from headrace.spark.stores.delta_table import DeltaCommits


@pytest.mark.parametrize("name", ["id", 'a"b', "a`b", "a b", "order", "Größe", "a.b"])
def test_rows_are_merged_by_a_key_of_any_name(tmp_path: Path, name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import DeltaTable

    root = tmp_path / "table"
    root.mkdir()
    fields = [
        {"name": column, "type": kind, "nullable": True, "metadata": {}}
        for column, kind in ((name, "long"), ("value", "string"))
    ]

    def merge(batch: int, rows: dict[int, str]) -> None:
        table = DeltaCommits(str(root), Batch("query", batch))
        table.open({"type": "struct", "fields": fields}, ())
        columns: dict[str, Any] = {name: list(rows), "value": list(rows.values())}
        path = tmp_path / f"{batch}.parquet"
        pq.write_table(pa.table(columns), path)
        table.merge([str(path)], [name])

    merge(0, {1: "a", 2: "b"})
    merge(1, {2: "B", 3: "C"})
    found = DeltaTable(str(root)).to_pyarrow_table().to_pylist()
    assert {row[name]: row["value"] for row in found} == {1: "a", 2: "B", 3: "C"}
