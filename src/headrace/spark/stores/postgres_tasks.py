"""What a task does: its Arrow batches as CSV into the staging table, in one COPY."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from headrace.spark.stores.postgres_link import connection
from headrace.spark.stores.postgres_table import Table


def copy_rows(
    dsn: str, table: Table, staging: str, columns: Sequence[str]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that a task runs over its Arrow batches."""
    names = [*columns, "headrace_task", "headrace_attempt"]

    def copy(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        task, attempt = context.partitionId(), context.taskAttemptId()
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        rows = 0
        if first is not None:
            with connection(dsn) as link:
                rows = _copy(link, table, staging, names, (task, attempt), _chain(first, filled))
        done = {"task": [task], "attempt": [attempt], "rows": [rows]}
        schema = pyarrow.schema([("task", "int32"), ("attempt", "int64"), ("rows", "int64")])
        yield pyarrow.RecordBatch.from_pydict(done, schema)

    return copy


def _chain(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from others


def _copy(
    link: Any,
    table: Table,
    staging: str,
    names: Sequence[str],
    attempt: tuple[int, int],
    batches: Iterator[Any],
) -> int:
    from psycopg import sql

    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(
        table.identifier(staging), sql.SQL(", ").join(map(sql.Identifier, names))
    )
    rows = 0
    with link.cursor() as cursor, cursor.copy(statement) as stream:
        for batch in batches:
            stream.write(csv_of(batch, attempt))
            rows += batch.num_rows
    return rows


def csv_of(batch: Any, attempt: tuple[int, int]) -> bytes:
    """An Arrow batch as PostgreSQL reads CSV: a null is nothing, an empty string has quotes."""
    import pyarrow
    import pyarrow.csv

    columns = []
    for column in batch.columns:
        if pyarrow.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pyarrow.timestamp("us", "UTC"))
        columns.append(column)
    columns += [pyarrow.repeat(number, batch.num_rows) for number in attempt]
    table = pyarrow.Table.from_arrays(columns, [str(index) for index in range(len(columns))])
    sink = pyarrow.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(include_header=False))
    return bytes(sink.getvalue())
