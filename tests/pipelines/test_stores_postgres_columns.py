"""Types of new columns, and rows as the CSV that PostgreSQL reads."""

import datetime
import decimal

import pyarrow as pa
import pytest

from headrace.spark.errors import OptionError
from headrace.spark.stores.postgres_columns import column_type
from headrace.spark.stores.postgres_link import place
from headrace.spark.stores.postgres_tasks import csv_of


def test_types_of_new_columns() -> None:
    from pyspark.sql import types

    integers = types.ArrayType(types.IntegerType())
    assert column_type("c", types.ByteType()) == "smallint"
    assert column_type("c", types.DecimalType(38, 10)) == "numeric(38,10)"
    assert column_type("c", types.TimestampNTZType()) == "timestamp without time zone"
    assert column_type("c", types.ArrayType(types.BinaryType())) == "bytea[]"
    assert column_type("c", types.MapType(types.StringType(), types.LongType())) == "jsonb"
    assert column_type("c", types.ArrayType(integers)) == "jsonb"
    structs = types.ArrayType(types.StructType([types.StructField("a", types.LongType())]))
    assert column_type("c", structs) == "jsonb"


def test_a_type_without_counterpart_is_named_with_its_column() -> None:
    from pyspark.sql import types

    with pytest.raises(OptionError, match=r"^Column gap: PostgreSQL has no type for Spark's inter"):
        column_type("gap", types.DayTimeIntervalType())


def test_nulls_empty_strings_and_quotes_are_told_apart() -> None:
    berlin = pa.timestamp("us", "Europe/Berlin")
    moment = datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.UTC)
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(['a"b,\n', "", None]),
            pa.array([decimal.Decimal("1.50"), None, None], pa.decimal128(10, 2)),
            pa.array([moment, None, None], berlin),
            pa.array([float("nan"), float("-inf"), None]),
        ],
        ["same", "same", "a", "b"],  # names of a DataFrame need not be unique, nor known here
    )
    assert csv_of(batch, (3, 77)).decode() == (
        '"a""b,\n",1.50,2026-07-01 12:00:00.000000Z,nan,3,77\n"",,,-inf,3,77\n,,,,3,77\n'
    )


def test_the_place_of_a_server_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGPORT", "PGDATABASE"):
        monkeypatch.delenv(name, raising=False)
    assert place({"host": "db", "password": "p", "user": "u", "dbname": "shop"}) == "db:5432/shop"
    assert place({}) == "localhost:5432"
