"""Spark's types in PostgreSQL: what a new table has, and how a value is written as text for COPY.

COPY takes text, which PostgreSQL reads by the type of the target's column. So a string may go into
a uuid, an inet or an enum, as it may in an INSERT. Numbers, dates and times stay Arrow columns and
become CSV without a line of Python per row; Spark itself turns the other types into text.
"""

from __future__ import annotations

from typing import Any

from headrace.spark.errors import OptionError

_TYPES = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "void": "text",
}
_DOCUMENTS = ("array", "map", "struct", "variant")


def column_type(name: str, spark_type: Any) -> str:
    """The type of a column in a table that is made for a DataFrame."""
    kind = str(spark_type.simpleString())
    if kind.startswith("array<"):
        element = spark_type.elementType.simpleString()
        if not element.startswith(_DOCUMENTS):
            return f"{column_type(name, spark_type.elementType)}[]"
    if kind.startswith(_DOCUMENTS):
        return "jsonb"
    if kind.startswith("decimal("):
        return kind.replace("decimal", "numeric")
    if kind.startswith(("varchar(", "char(")):
        return kind
    if kind not in _TYPES:
        raise OptionError(f"Column {name}: PostgreSQL has no type for Spark's {kind}; cast it.")
    return _TYPES[kind]


def as_text(name: str, column: Any, spark_type: Any, target_type: str) -> Any:
    """The column as one that can be written as CSV, or itself if it can be already."""
    from pyspark.sql import functions as F

    kind = spark_type.simpleString()
    if kind == "binary":
        return F.concat(F.lit("\\x"), F.hex(column))
    if target_type in ("json", "jsonb") and kind.startswith(_DOCUMENTS):
        return F.to_json(column)
    if kind.startswith("array<"):
        return _array(column, spark_type.elementType)
    if kind.startswith(_DOCUMENTS):
        return F.to_json(column)
    column_type(name, spark_type)
    return column.cast("string") if kind == "void" else column


def _array(column: Any, element_type: Any) -> Any:
    """PostgreSQL's way to write an array: `{"a","b\\"c",NULL}`."""
    from pyspark.sql import functions as F

    elements = F.transform(column, lambda it: F.coalesce(_element(it, element_type), F.lit("NULL")))
    literal = F.concat(F.lit("{"), F.array_join(elements, ","), F.lit("}"))
    return F.when(column.isNotNull(), literal)


def _element(element: Any, element_type: Any) -> Any:
    from pyspark.sql import functions as F

    kind = element_type.simpleString()
    if kind.startswith("array<"):
        return F.when(element.isNotNull(), _array(element, element_type.elementType))
    if kind == "binary":
        return F.concat(F.lit('"\\\\x'), F.hex(element), F.lit('"'))
    if kind == "timestamp":
        text = F.date_format(element, "yyyy-MM-dd HH:mm:ss.SSSSSSXXX")
    elif kind.startswith(_DOCUMENTS):
        text = F.to_json(element)
    else:
        text = element.cast("string")
    escaped = F.replace(F.replace(text, F.lit("\\"), F.lit("\\\\")), F.lit('"'), F.lit('\\"'))
    return F.concat(F.lit('"'), escaped, F.lit('"'))
