"""The OpenAPI description, made from the table of operations."""

from __future__ import annotations

import re
from typing import Any

from headrace import __version__
from headrace.rest.bodies import V2, v2_type
from headrace.rest.operations import V2_OPERATIONS, V3_OPERATIONS, Operation

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0}
_NAME = {"type": "string", "minLength": 1}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _list(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


_PLACE = _object(("topic", "partition"), topic=_NAME, partition=_NUMBER)
_DATA = _object(
    type={"type": "string", "enum": ["BINARY", "JSON", "STRING", "AVRO", "JSONSCHEMA", "PROTOBUF"]},
    subject=_TEXT,
    subject_name_strategy={
        "type": "string",
        "enum": ["TOPIC_NAME", "RECORD_NAME", "TOPIC_RECORD_NAME"],
    },
    schema_id=_NUMBER,
    schema_version=_NUMBER,
    schema=_TEXT,
    data={},
)
SCHEMAS: dict[str, dict[str, Any]] = {
    "Error": _object(("error_code", "message"), error_code={"type": "integer"}, message=_TEXT),
    "Records": _object(
        ("records",),
        records=_list(_object(key={}, value={}, partition=_NUMBER), 1),
        key_schema=_TEXT,
        key_schema_id=_NUMBER,
        value_schema=_TEXT,
        value_schema_id=_NUMBER,
    ),
    "Instance": {
        "type": "object",
        "properties": {
            "name": _TEXT,
            "format": {
                "type": "string",
                "enum": ["binary", "json", "avro", "jsonschema", "protobuf"],
            },
            "auto.offset.reset": {"type": "string", "enum": ["earliest", "latest", "none"]},
            "auto.commit.enable": {"type": "string", "enum": ["true", "false"]},
            "fetch.min.bytes": {"type": "integer"},
            "consumer.request.timeout.ms": {"type": "integer"},
        },
    },
    "Subscription": _object(topics=_list(_NAME, 1), topic_pattern=_NAME),
    "Partitions": _object(("partitions",), partitions=_list(_PLACE)),
    "Positions": _object(
        offsets=_list(
            _object(
                ("topic", "partition", "offset"), topic=_NAME, partition=_NUMBER, offset=_NUMBER
            )
        )
    ),
    "Offsets": _object(
        offsets=_list(
            _object(
                ("topic", "partition", "offset"),
                topic=_NAME,
                partition=_NUMBER,
                offset=_NUMBER,
                metadata=_TEXT,
            )
        )
    ),
    "NewTopic": _object(
        ("topic_name",),
        topic_name=_NAME,
        partitions_count={"type": "integer", "minimum": 1},
        replication_factor={"type": "integer", "minimum": 1},
        configs=_list(_object(("name",), name=_NAME, value=_TEXT)),
        validate_only={"type": "boolean"},
    ),
    "PartitionsCount": _object(
        ("partitions_count",), partitions_count={"type": "integer", "minimum": 1}
    ),
    "ConfigValue": _object(("value",), value=_TEXT),
    "ConfigChanges": _object(
        ("data",),
        data=_list(
            _object(
                ("name",),
                name=_NAME,
                value=_TEXT,
                operation={"type": "string", "enum": ["SET", "DELETE"]},
            )
        ),
        validate_only={"type": "boolean"},
    ),
    "Record": _object(
        partition_id=_NUMBER,
        headers=_list(_object(("name",), name=_TEXT, value=_TEXT)),
        key=_DATA,
        value=_DATA,
        timestamp={"type": "string", "format": "date-time"},
    ),
}
_ERRORS = {
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    "description": "Why it was not done: error_code and message.",
}


def openapi() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for operation in (*V2_OPERATIONS, *V3_OPERATIONS):
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Headrace REST proxy",
            "version": __version__,
            "description": "Kafka over HTTP, as Confluent's REST Proxy speaks it (v2 and v3).",
        },
        "paths": paths,
        "components": {"schemas": SCHEMAS},
    }


def _operation(operation: Operation) -> dict[str, Any]:
    is_v3 = operation.path.startswith("/v3")
    described: dict[str, Any] = {
        "operationId": _identifier(operation),
        "summary": operation.summary,
        "tags": ["v3" if is_v3 else "v2"],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": _NAME}
            for name in re.findall(r"{(\w+)}", operation.path)
        ]
        + [{"name": name, "in": "query", "schema": _NUMBER} for name in operation.query],
        "responses": {"2XX": {"description": "Done."}, "4XX": _ERRORS, "5XX": _ERRORS},
    }
    if operation.body:
        schema = {"schema": {"$ref": f"#/components/schemas/{operation.body}"}}
        types = ["application/json"] if is_v3 else [V2]
        if operation.body == "Records":
            types = [v2_type(name) for name in ("json", "binary", "avro", "jsonschema", "protobuf")]
        described["requestBody"] = {"required": True, "content": dict.fromkeys(types, schema)}
    return described


def _identifier(operation: Operation) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", operation.path.lower()).strip("_")
    return f"{operation.method.lower()}_{words}"
