"""PostgreSQL from real queries: upserts, replays, failures between steps, a server that goes."""

import datetime
import decimal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.spark.stores.errors import StoreError, StoreUnavailable
from headrace.spark.stores.postgres import PostgresTarget, to_postgres
from headrace.spark.stores.postgres_table import Table
from headrace.spark.stores.retrying import Retries
from tests.support.postgres_server import PostgresServer
from tests.support.stream_input import StreamInput, forget_last_commit, run_to_end

_AT_ONCE = Retries(seconds=0)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def source(tmp_path: Path) -> StreamInput:
    return StreamInput(tmp_path / "input", "id long, name string, version int")


def staging_tables(postgres: PostgresServer) -> list[tuple[Any, ...]]:
    return postgres.query("SELECT relname FROM pg_class WHERE relname LIKE 'headrace_staging%'")


def test_rows_are_upserted_by_key_and_a_replay_changes_nothing(
    spark: Any, postgres: PostgresServer, source: StreamInput, tmp_path: Path
) -> None:
    def stream() -> Any:
        rows = source.read(spark).repartition(4)
        options: dict[str, Any] = {"key": ["id"], "order_by": "version", "create": True}
        return to_postgres(rows, "public.users", dsn=postgres.dsn, **options)

    def users() -> list[tuple[Any, ...]]:
        return postgres.query("SELECT id, name, version, xmin::text FROM users ORDER BY id")

    source.add(*({"id": n % 10, "name": f"v{n}", "version": n} for n in range(50)))
    run_to_end(stream(), tmp_path / "checkpoint")
    assert [row[:3] for row in users()] == [(n, f"v{40 + n}", 40 + n) for n in range(10)]

    source.add({"id": 3, "name": None, "version": 99}, {"id": 77, "name": "new", "version": 1})
    run_to_end(stream(), tmp_path / "checkpoint")
    before = users()
    assert [row[:3] for row in before if row[0] in (3, 77)] == [(3, None, 99), (77, "new", 1)]

    forget_last_commit(tmp_path / "checkpoint")
    run_to_end(stream(), tmp_path / "checkpoint")
    assert users() == before  # down to the transaction that wrote each row
    assert staging_tables(postgres) == []


@pytest.mark.parametrize("step", ["make_staging", "claim", "merge", "drop"])
@pytest.mark.no_second_chance
def test_rows_appended_are_there_once_though_the_batch_died_at_a_step(
    spark: Any,
    postgres: PostgresServer,
    source: StreamInput,
    tmp_path: Path,
    step: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = f"appended_{step}"

    def stream() -> Any:
        rows = source.read(spark).repartition(3)
        return to_postgres(rows, table, dsn=postgres.dsn, create=True)

    source.add(*({"id": number, "name": "x", "version": 1} for number in range(100)))
    with monkeypatch.context() as patch:

        def die(*_: object) -> None:
            raise InterruptedError(step)

        patch.setattr(Table, step, die)
        with pytest.raises(Exception, match=step):
            run_to_end(stream(), tmp_path / "checkpoint")
        tables = postgres.query(f"SELECT to_regclass('{table}')")
        assert tables == [(None,)] or postgres.query(f"SELECT count(*) FROM {table}") == [(0,)]
    run_to_end(stream(), tmp_path / "checkpoint")
    ids = [row[0] for row in postgres.query(f"SELECT id FROM {table} ORDER BY id")]
    assert ids == list(range(100))
    assert staging_tables(postgres) == []


@pytest.mark.no_second_chance
def test_a_commit_whose_answer_was_lost_is_not_done_twice(
    spark: Any,
    postgres: PostgresServer,
    source: StreamInput,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    merge = PostgresTarget._merge
    tries: list[int] = []

    def merge_and_lose(self: PostgresTarget, *arguments: Any) -> None:
        merge(self, *arguments)
        tries.append(1)
        raise StoreUnavailable("the connection was lost behind the commit")

    monkeypatch.setattr(PostgresTarget, "_merge", merge_and_lose)
    source.add(*({"id": number, "name": "x", "version": 1} for number in range(7)))
    fast = Retries(seconds=1, first_wait=0.01)
    writer = to_postgres(source.read(spark), "answers", dsn=postgres.dsn, create=True, retries=fast)
    run_to_end(writer, tmp_path / "checkpoint")
    assert postgres.query("SELECT count(*) FROM answers") == [(7,)]
    assert len(tries) == 1


@pytest.mark.no_second_chance
def test_staged_rows_that_a_crash_of_the_server_took_are_written_again(
    spark: Any,
    postgres: PostgresServer,
    source: StreamInput,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    merge = PostgresTarget._merge
    lost: list[str] = []

    def crash_before(self: PostgresTarget, *arguments: Any) -> None:
        if not lost:
            postgres.crash()
            postgres.start()
        try:
            merge(self, *arguments)
        except StoreUnavailable as error:
            lost.append(str(error))
            raise

    monkeypatch.setattr(PostgresTarget, "_merge", crash_before)
    source.add(*({"id": number, "name": "x", "version": 1} for number in range(7)))
    fast = Retries(seconds=5, first_wait=0.01)
    writer = to_postgres(source.read(spark), "crashed", dsn=postgres.dsn, create=True, retries=fast)
    run_to_end(writer, tmp_path / "checkpoint")
    assert postgres.query("SELECT count(*) FROM crashed") == [(7,)]
    place = f"127.0.0.1:{postgres.port}/postgres"
    assert lost == [f"The rows staged for crashed at {place} are gone."]


def test_a_server_that_is_down_fails_the_batch_in_one_sentence_and_the_next_run_goes_on(
    spark: Any, postgres: PostgresServer, source: StreamInput, tmp_path: Path
) -> None:
    def stream(retries: Retries) -> Any:
        rows = source.read(spark)
        return to_postgres(rows, "patient", dsn=postgres.dsn, create=True, retries=retries)

    source.add({"id": 1, "name": "x", "version": 1})
    postgres.stop()
    starting = threading.Timer(1.0, postgres.start)
    try:
        with pytest.raises(
            Exception, match=rf"PostgreSQL at 127\.0\.0\.1:{postgres.port}/postgres: .*refused"
        ):
            run_to_end(stream(_AT_ONCE), tmp_path / "checkpoint")
    finally:
        starting.start()
    run_to_end(stream(Retries(seconds=60)), tmp_path / "checkpoint")
    starting.join()
    assert postgres.query("SELECT id FROM patient") == [(1,)]


def test_every_type_arrives_as_the_database_has_it(spark: Any, postgres: PostgresServer) -> None:
    moment = datetime.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=datetime.UTC)
    naive = datetime.datetime(1999, 12, 31, 23, 59, 59)  # noqa: DTZ001 - a local time
    text = 'quote " comma , back\\slash\n\\.\n\ttab € 😀'
    schema = (
        "id int, flag boolean, tiny tinyint, big bigint, real float, dbl double,"
        " amount decimal(38, 10), text string, raw binary, day date, at timestamp,"
        " wall timestamp_ntz, words array<string>, raws array<binary>, ats array<timestamp>,"
        " grid array<array<int>>, doc struct<a: int, b: string>, map map<string, int>"
    )
    full = (
        *(1, True, -128, 2**63 - 1, 1.5, float("-inf"), decimal.Decimal("12345678.0000000001")),
        *(text, bytes(range(256)), moment.date(), moment, naive),
        *(["a", None, text, "", "NULL"], [b"\x00", None], [moment, None], [[1, 2], [3, None]]),
        *((1, text), {"k": 1, "n": None}),
    )
    empty = (2, *([None] * 17))
    blank: tuple[Any, ...] = (
        3,
        False,
        0,
        0,
        0.0,
        float("nan"),
        None,
        "",
        b"",
        None,
        None,
        None,
        *([[]] * 4),
        None,
        {},
    )
    rows = spark.createDataFrame([full, empty, blank], schema)
    to_postgres(rows.repartition(2), "kinds", dsn=postgres.dsn, key=["id"], create=True)
    to_postgres(rows.repartition(2), "kinds", dsn=postgres.dsn, key="id", create=True)
    found = postgres.query("SELECT * FROM kinds ORDER BY id")
    assert len(found) == 3
    assert found[0] == (
        *full[:16],
        {"a": 1, "b": text},
        {"k": 1, "n": None} if "n" in found[0][17] else {"k": 1},
    )
    assert found[1] == empty
    assert found[2][7:9] == ("", b"")
    assert found[2][5] != found[2][5]
    assert found[2][12:16] == ([], [], [], [])
    kinds = postgres.query(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'kinds'"
    )
    assert dict(kinds)["amount"] == "numeric"
    assert dict(kinds)["at"] == "timestamp with time zone"
    assert dict(kinds)["doc"] == "jsonb"


def test_text_goes_into_columns_of_the_databases_own_types(
    spark: Any, postgres: PostgresServer
) -> None:
    postgres.query('CREATE SCHEMA "My Shop"')
    postgres.query(
        'CREATE TABLE "My Shop"."Order s" (id uuid PRIMARY KEY, tags jsonb, net inet, other int)'
    )
    rows = spark.sql(
        "SELECT '0e37df36-f698-11e6-8dd4-cb9ced3df976' AS id, array('a', 'b') AS tags,"
        " '10.0.0.1' AS net"
    )
    to_postgres(rows, "My Shop.Order s", dsn=postgres.dsn, key=["id"], query="load", batch_id=0)
    assert postgres.query('SELECT id::text, tags, host(net), other FROM "My Shop"."Order s"') == [
        ("0e37df36-f698-11e6-8dd4-cb9ced3df976", ["a", "b"], "10.0.0.1", None)
    ]
    assert postgres.query('SELECT query, batch_id FROM "My Shop".headrace_batches') == [("load", 0)]


def test_text_arrives_in_a_database_of_another_encoding(
    spark: Any, postgres: PostgresServer
) -> None:
    import psycopg

    with psycopg.connect(postgres.dsn, autocommit=True) as link:
        link.execute(
            "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    latin = postgres.dsn.removesuffix("postgres") + "latin"
    to_postgres(spark.sql("SELECT 'Zürich' AS city"), "cities", dsn=latin, create=True)
    with psycopg.connect(latin) as link:
        found = link.execute("SELECT city, length(city), octet_length(city) FROM cities").fetchone()
    assert found == ("Zürich", 6, 6)
    with pytest.raises(StoreError, match="has no equivalent in encoding"):
        to_postgres(spark.sql("SELECT '東京' AS city"), "cities", dsn=latin)


def test_refusals_are_one_sentence(spark: Any, postgres: PostgresServer) -> None:
    rows = spark.range(2)
    place = rf"127\.0\.0\.1:{postgres.port}/postgres"
    with pytest.raises(StoreError, match=rf"^There is no table nowhere at {place}; make it"):
        to_postgres(rows, "nowhere", dsn=postgres.dsn)
    postgres.query("CREATE TABLE keyless (id bigint, small smallint)")
    with pytest.raises(StoreError, match=rf"^PostgreSQL at {place}: there is no unique or excl"):
        to_postgres(rows, "keyless", dsn=postgres.dsn, key=["id"])
    with pytest.raises(StoreError, match="has no column name, other; it has id, small"):
        to_postgres(rows.selectExpr("id", "1 AS name", "2 AS other"), "keyless", dsn=postgres.dsn)
    with pytest.raises(StoreError, match=rf"^PostgreSQL at {place}: value .99999. is out of range"):
        to_postgres(rows.selectExpr("99999 AS small"), "keyless", dsn=postgres.dsn)
    with pytest.raises(ValueError, match="No column key in the DataFrame; it has id"):
        to_postgres(rows, "keyless", dsn=postgres.dsn, key=["key"])
    with pytest.raises(StoreError, match=r"^This is no PostgreSQL dsn"):
        to_postgres(rows, "keyless", dsn="postgresql://u:secret@[::1", retries=_AT_ONCE)
    assert staging_tables(postgres) == []
