"""Which columns a DataFrame for a topic may have: those of Spark's `kafka` sink, and `timestamp`.

Other columns are left out in silence, as Spark's sink does, so that what a source gave can be
written on without a `select`.
"""

from __future__ import annotations

from typing import Any

from headrace.spark.errors import OptionError

HEADERS = "array<struct<key:string,value:binary>>"

_TYPES = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (HEADERS,),
    "partition": ("int",),
    "timestamp": ("timestamp", "timestamp_ntz"),
}


def check_columns(schema: Any, topic: str | None) -> list[str]:
    """The columns that will be written, of a StructType; raises OptionError."""
    kinds = {field.name.lower(): field.dataType.simpleString() for field in schema.fields}
    if topic is None and "topic" not in kinds:
        raise OptionError(
            "No topic is given: set the option topic, or add a column topic to the data."
        )
    if "value" not in kinds:
        raise OptionError(
            "The data has no column value, which is required (string or binary);"
            f" it has {', '.join(kinds) or 'none'}."
        )
    for name, allowed in _TYPES.items():
        kind = kinds.get(name)
        if kind is not None and not _is_one_of(kind, allowed):
            raise OptionError(f"Column {name} is {' or '.join(allowed)}, not {kind}.")
    return [name for name in _TYPES if name in kinds and (name != "topic" or topic is None)]


def _is_one_of(kind: str, allowed: tuple[str, ...]) -> bool:
    """A string with a collation is a string still."""
    return kind.split(" collate ")[0] in allowed
