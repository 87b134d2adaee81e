"""Rows as Redis commands, in Redis's own protocol: Spark builds the bytes, nobody touches a row.

A command is `*COUNT`, then each word as `$LENGTH` and the word, all with CRLF between. One column
of the result holds the commands of a row, the other how many replies they will get.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
_DOCUMENTS = ("array", "map", "struct", "variant")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a row becomes a key and what is below it."""

    key: str
    #: The columns below the key; a row whose columns are all null deletes the key.
    fields: Sequence[str]
    #: `hash`: a field for each column; `json`: one document; `value`: the one column as it is.
    form: str = "hash"
    prefix: str = ""
    ttl_seconds: int | None = None


def commands(df: Any, layout: Layout) -> Any:
    """The columns `commands` (binary, null for a row without a key) and `replies` (int)."""
    from pyspark.sql import functions as F

    from headrace.spark.stores.last_per_key import quoted

    types = {field.name: field.dataType for field in df.schema.fields}
    columns = {name: df[quoted(name)] for name in [layout.key, *layout.fields]}
    words = {name: _word(column, types[name]) for name, column in columns.items()}
    key = _bulk(F.concat(_bytes(layout.prefix), words[layout.key]))
    values = {name: words[name] for name in layout.fields}
    if layout.form == "hash":
        write, replies = _hash(key, values, layout.ttl_seconds)
    else:
        if layout.form == "json":
            document = F.to_json(F.struct(*(columns[name] for name in layout.fields)))
            value = document.cast("binary")
        else:
            value = words[layout.fields[0]]
        write, replies = _string(key, value, layout.ttl_seconds), F.lit(1)
    gone = F.lit(True)
    for name in layout.fields:
        gone = gone & columns[name].isNull()
    return df.select(
        F.when(gone, _command(2, _literal("DEL"), key)).otherwise(write).alias("commands"),
        F.when(gone, F.lit(1)).otherwise(replies).cast("int").alias("replies"),
    )


def _string(key: Any, value: Any, ttl_seconds: int | None) -> Any:
    if ttl_seconds is None:
        return _command(3, _literal("SET"), key, _bulk(value))
    expiry = _literal("EX"), _literal(str(ttl_seconds))
    return _command(5, _literal("SET"), key, _bulk(value), *expiry)


def _hash(key: Any, values: dict[str, Any], ttl_seconds: int | None) -> tuple[Any, Any]:
    """Set the fields that have a value, delete those that are null."""
    from pyspark.sql import functions as F

    nothing = _bytes("")
    sets, deletes, count = [], [], F.lit(0)
    for name, value in values.items():
        field = _literal(name)
        sets.append(F.when(value.isNotNull(), F.concat(field, _bulk(value))).otherwise(nothing))
        deletes.append(F.when(value.isNull(), field).otherwise(nothing))
        count = count + value.isNotNull().cast("int")
    absent = F.lit(len(values)) - count
    parts = [
        _command(F.lit(2) + count * 2, _literal("HSET"), key, *sets),
        F.when(absent > 0, _command(F.lit(2) + absent, _literal("HDEL"), key, *deletes)).otherwise(
            nothing
        ),
    ]
    replies = F.lit(1) + (absent > 0).cast("int")
    if ttl_seconds is not None:
        parts.append(_command(3, _literal("EXPIRE"), key, _literal(str(ttl_seconds))))
        replies = replies + 1
    return F.concat(*parts), replies


def _word(column: Any, spark_type: Any) -> Any:
    """A value as people expect to read it in Redis."""
    from pyspark.sql import functions as F

    kind = spark_type.simpleString()
    if kind == "binary":
        return column
    if kind == "timestamp":
        return F.date_format(column, _MOMENT).cast("binary")
    if kind.startswith(_DOCUMENTS):
        return F.to_json(column).cast("binary")
    return column.cast("string").cast("binary")


def _command(count: Any, *words: Any) -> Any:
    from pyspark.sql import functions as F

    number = F.lit(count) if isinstance(count, int) else count
    return F.concat(_bytes("*"), number.cast("string").cast("binary"), _bytes("\r\n"), *words)


def _bulk(word: Any) -> Any:
    from pyspark.sql import functions as F

    length = F.octet_length(word).cast("string").cast("binary")
    return F.concat(_bytes("$"), length, _bytes("\r\n"), word, _bytes("\r\n"))


def _literal(word: str) -> Any:
    return _bytes(f"${len(word.encode())}\r\n{word}\r\n")


def _bytes(text: str) -> Any:
    from pyspark.sql import functions as F

    return F.lit(text.encode())
