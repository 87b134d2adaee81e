"""A decoder over schemas that are at hand, and rows in the registry's wire format."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace.serde.avro_columns.decoder import AvroColumnDecoder, Decoded
from headrace.serde.avro_columns.schema import Node, parse_nodes
from headrace.serde.errors import SchemaError
from headrace.serde.wire import prefix

WRITER_ID = 7


def nodes(schema: Any) -> Node:
    return parse_nodes(json.dumps(schema))


def decoder(reader: Any, **writers: Any) -> AvroColumnDecoder:
    """Ids as `s7=...`; without any, the reader wrote the rows as well."""
    known = {int(name[1:]): nodes(schema) for name, schema in writers.items()}
    known = known or {WRITER_ID: nodes(reader)}

    def find(schema_id: int) -> Node:
        if schema_id not in known:
            raise SchemaError(f"The registry does not know schema {schema_id}.")
        return known[schema_id]

    return AvroColumnDecoder(nodes(reader), find)


def column(rows: Sequence[bytes | None], schema_id: int = WRITER_ID) -> pa.Array:
    return pa.array([None if row is None else prefix(schema_id) + row for row in rows], pa.binary())


def decode(reader: Any, rows: Sequence[bytes | None], writer: Any = None) -> Decoded:
    """Decode and let Arrow check every buffer."""
    found = decoder(reader, s7=writer or reader).decode(column(rows))
    found.values.validate(full=True)
    return found


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    """A record from (name, type) or (name, type, default)."""
    made = []
    for one in fields:
        field = {"name": one[0], "type": one[1]}
        if len(one) > 2:
            field["default"] = one[2]
        made.append(field)
    return {"type": "record", "name": name, "fields": made}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}
