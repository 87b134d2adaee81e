"""Redis: the last row of each key, as a hash, a JSON document or a plain value.

Writing a batch again writes the same values to the same keys, so that a replay changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.spark.errors import OptionError
from headrace.spark.stores.batches import Batch, write_batches
from headrace.spark.stores.errors import StoreError
from headrace.spark.stores.last_per_key import last_per_key, require_columns
from headrace.spark.stores.redis_commands import Layout, commands
from headrace.spark.stores.redis_link import parse_url, redis_link
from headrace.spark.stores.retrying import Retries, with_retries


def to_redis(
    df: Any,
    url: str,
    *,
    key: str,
    value: str | None = None,
    form: str = "hash",
    prefix: str = "",
    ttl_seconds: int | None = None,
    order_by: str | None = None,
    connections: int = 8,
    retries: Retries | None = None,
) -> Any:
    """Write each row under `prefix` and its key; a `DataStreamWriter` if the DataFrame streams.

    With `value` that column alone is the value. Else all columns but the key are a hash, or with
    `form="json"` a document. A row with nothing but nulls below its key deletes the key. Of several
    rows of a key the one with the highest `order_by` is written, or the last.
    """
    address = parse_url(url)
    require_columns(df, [it for it in (key, value, order_by) if it is not None])
    if form not in ("hash", "json"):
        raise OptionError(f"form is hash or json, not {form}; a single column is named by value.")
    if ttl_seconds is not None and ttl_seconds < 1:
        raise OptionError(f"ttl_seconds has to be positive, not {ttl_seconds}.")
    fields = [name for name in df.columns if name != key] if value is None else [value]
    if not fields:
        raise OptionError(f"There is no column besides the key {key} to write.")
    layout = Layout(key, fields, form if value is None else "value", prefix, ttl_seconds)
    target = RedisTarget(url, layout, order_by, connections, retries or Retries())
    return write_batches(df, target.write, what=f"Redis at {address}, keys {prefix}*")


@dataclass(frozen=True, slots=True)
class RedisTarget:
    """A database that batches are written to."""

    url: str
    layout: Layout
    order_by: str | None = None
    connections: int = 8
    retries: Retries = field(default_factory=Retries)

    def write(self, df: Any, batch: Batch | None) -> None:
        with_retries(lambda: self._try(df), self.retries)

    def _try(self, df: Any) -> None:
        last = last_per_key(df, [self.layout.key], self.order_by)
        rows = commands(last, self.layout).coalesce(self.connections)
        rows.mapInArrow(send_rows(self.url, self.layout.key), "rows bigint").collect()


def send_rows(url: str, key: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that a task runs over its Arrow batches."""

    def send(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow
        import pyarrow.compute

        rows = 0
        with redis_link(url) as link:
            for batch in batches:
                column = batch.column(0)
                if column.null_count:
                    raise StoreError(f"A row has no key: its column {key} is null.")
                if batch.num_rows:
                    replies = pyarrow.compute.sum(batch.column(1)).as_py()
                    link.send(bytes_of(column), replies)
                rows += batch.num_rows
        yield pyarrow.RecordBatch.from_pydict({"rows": [rows]})

    return send


def bytes_of(column: Any) -> memoryview:
    """All values of a binary column one behind the other, which is how Arrow has them."""
    import pyarrow

    offsets = (
        memoryview(column.buffers()[1])
        .cast("B")
        .cast("q" if pyarrow.types.is_large_binary(column.type) else "i")
    )
    first, last = offsets[column.offset], offsets[column.offset + len(column)]
    return memoryview(column.buffers()[2])[first:last]
