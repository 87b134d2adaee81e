"""Avro through the serializers against bare fastavro: a record of ten fields, in one process.

python bench/serde.py --quick
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

# Run as a file, the interpreter looks for modules in bench/ instead of in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fastavro import parse_schema, schemaless_reader, schemaless_writer

from bench.environment import environment
from bench.markdown import environment_line, format_ratio, markdown_table, write_between_markers
from bench.results import RAW, save_json
from headrace.serde.deserializer import Deserializer
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Schema
from headrace.serde.serializer import Serializer
from tests.support.small_registry import small_registry

FIELDS = {
    "id": "long",
    "customer": "string",
    "amount": "double",
    "count": "int",
    "is_paid": "boolean",
    "note": '["null", "string"]',
    "city": "string",
    "score": "float",
    "tags": '{"type": "array", "items": "string"}',
    "at": "long",
}
TEXT = (
    '{"type": "record", "name": "Order", "fields": ['
    + ", ".join(
        f'{{"name": "{name}", "type": {kind if kind[0] in "[{" else chr(34) + kind + chr(34)}}}'
        for name, kind in FIELDS.items()
    )
    + "]}"
)
VALUE: dict[str, Any] = {
    "id": 1234567,
    "customer": "Ada Lovelace",
    "amount": 99.5,
    "count": 3,
    "is_paid": True,
    "note": "ring twice",
    "city": "London",
    "score": 0.5,
    "tags": ["new", "express"],
    "at": 1_700_000_000_000,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds; publishes nothing")
    parser.add_argument("--output", type=Path, default=RAW, help="where the JSON goes")
    arguments = parser.parse_args()
    rounds, count = (3, 20_000) if arguments.quick else (7, 50_000)
    with small_registry() as registry:
        client = RegistryClient.from_settings({"schema.registry.url": registry.url})
        figures = _measure(client, rounds, count)
        client.close()
    rows = [
        _row("decode", "one by one", figures["decode"], figures["bare decode"]),
        _row("encode", "checked first", figures["encode"], figures["bare encode"]),
    ]
    table = markdown_table(("Avro, 10 fields", "µs", "fastavro µs", "times as long"), rows)
    path = save_json({"environment": environment(), "figures": figures}, arguments.output, "serde")
    print(f"\n{table}\nEvery figure: {path}")
    if not arguments.quick:
        write_between_markers("bench: serde", f"{table}\n{environment_line(environment())}")


def _measure(client: RegistryClient, rounds: int, count: int) -> dict[str, list[float]]:
    """Microseconds a record, in rounds that take turns."""
    parsed = parse_schema(json.loads(TEXT))
    write, read = Serializer(client, Schema(TEXT)), Deserializer(client)
    data = write("orders", VALUE)
    assert data is not None
    assert read(data) == VALUE | {"score": 0.5}
    body = data[5:]

    def bare_decode() -> None:
        for _ in range(count):
            schemaless_reader(BytesIO(body), parsed, None)

    def decode() -> None:
        for _ in range(count):
            read(data)

    def bare_encode() -> None:
        for _ in range(count):
            schemaless_writer(BytesIO(), parsed, VALUE)

    def encode() -> None:
        for _ in range(count):
            write("orders", VALUE)

    work: dict[str, Callable[[], object]] = {
        "bare decode": bare_decode,
        "decode": decode,
        "bare encode": bare_encode,
        "encode": encode,
    }
    figures: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            figures[name].append((time.perf_counter() - start) / count * 1e6)
    return figures


def _row(what: str, how: str, ours: list[float], bare: list[float]) -> tuple[str, ...]:
    mine, theirs = statistics.median(ours), statistics.median(bare)
    return f"{what}, {how}", f"{mine:.2f}", f"{theirs:.2f}", format_ratio(mine / theirs)


if __name__ == "__main__":
    main()
