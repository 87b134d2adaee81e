"""Redis from real queries; redis-cli reads what is there."""

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.spark.stores.errors import StoreError
from headrace.spark.stores.redis import to_redis
from headrace.spark.stores.retrying import Retries
from tests.support.redis_server import RedisServer
from tests.support.stream_input import StreamInput, forget_last_commit, run_to_end

_AT_ONCE = Retries(seconds=0)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis"), password="s3cret") as server:
        yield server


def test_a_stream_keeps_the_last_row_of_each_key_and_a_replay_changes_nothing(
    spark: Any, redis: RedisServer, tmp_path: Path
) -> None:
    source = StreamInput(tmp_path / "input", "id long, name string, version int")

    def stream() -> Any:
        rows = source.read(spark).repartition(4)
        return to_redis(rows, redis.url, key="id", prefix="user:", order_by="version")

    source.add(*({"id": n % 10, "name": f"v{n}", "version": n} for n in range(50)))
    run_to_end(stream(), tmp_path / "checkpoint")
    for key in range(10):
        expected = {"name": f"v{40 + key}", "version": str(40 + key)}
        assert redis.hash(f"user:{key}") == expected

    source.add({"id": 1, "name": None, "version": 60}, {"id": 2, "name": None, "version": None})
    for _ in range(2):
        run_to_end(stream(), tmp_path / "checkpoint")
        assert redis.hash("user:1") == {"version": "60"}  # null deletes a field
        assert redis.ask("EXISTS", "user:2") == "0"  # nothing but nulls deletes the key
        assert redis.ask("DBSIZE") == "9"
        forget_last_commit(tmp_path / "checkpoint")


def test_the_order_of_rows_decides_where_no_column_does(spark: Any, redis: RedisServer) -> None:
    rows = spark.range(0, 30_000, numPartitions=3).selectExpr("id % 100 AS k", "id AS v")
    to_redis(rows, redis.url, key="k", value="v", prefix="last:")
    assert redis.ask("GET", "last:7") == "29907"
    assert redis.ask("EVAL", "return #redis.call('keys', 'last:*')", "0") == "100"


def test_hashes_json_and_plain_values_in_another_database(spark: Any, redis: RedisServer) -> None:
    rows = spark.sql(
        "SELECT 'a b' AS k, X'00ff0d0a' AS raw, 'ü\\r\\n$3' AS text, 1.50BD AS amount,"
        " true AS flag,"
        " timestamp'2026-01-02 03:04:05.6' AS at, array(1, 2) AS list"
    )
    other = redis.url.removesuffix("/0") + "/3"
    to_redis(rows.drop("raw"), other, key="k", form="json", prefix="json:", ttl_seconds=1000)
    assert json.loads(redis.ask("GET", "json:a b", database=3)) == {
        "text": "ü\r\n$3",
        "amount": 1.5,
        "flag": True,
        "at": "2026-01-02T03:04:05.600Z",
        "list": [1, 2],
    }
    assert 0 < int(redis.ask("TTL", "json:a b", database=3)) <= 1000
    to_redis(rows, other, key="k", value="raw", prefix="raw:", ttl_seconds=1000)
    assert redis.ask("STRLEN", "raw:a b", database=3) == "4"
    script = "return redis.sha1hex(redis.call('get', KEYS[1]))"
    found = redis.ask("EVAL", script, "1", "raw:a b", database=3)
    assert found == hashlib.sha1(b"\x00\xff\r\n").hexdigest()
    to_redis(rows.drop("text"), other, key="k", ttl_seconds=1000)
    assert redis.ask("HGET", "a b", "at", database=3) == "2026-01-02T03:04:05.600000Z"
    assert redis.ask("HGET", "a b", "amount", database=3) == "1.50"
    assert redis.ask("HGET", "a b", "list", database=3) == "[1,2]"
    assert 0 < int(redis.ask("TTL", "a b", database=3)) <= 1000


def test_refusals_are_one_sentence(spark: Any, redis: RedisServer) -> None:
    rows = spark.range(3).selectExpr("id", "'x' AS v")
    place = rf"Redis at 127\.0\.0\.1:{redis.port}"
    redis.ask("RPUSH", "list:1", "x")
    with pytest.raises(StoreError, match=rf"^{place}: WRONGTYPE Operation against a key"):
        to_redis(rows, redis.url, key="id", prefix="list:")
    wrong = f"redis://:wrong@127.0.0.1:{redis.port}"
    with pytest.raises(StoreError, match=rf"^{place}: WRONGPASS"):
        to_redis(rows, wrong, key="id")
    with pytest.raises(StoreError, match=r"^A row has no key: its column id is null\.$"):
        to_redis(spark.sql("SELECT CAST(NULL AS string) AS id, 1 AS v"), redis.url, key="id")
    with pytest.raises(StoreError, match=r"^A Redis url looks like"):
        to_redis(rows, "localhost:6379", key="id")
    with pytest.raises(ValueError, match="No column k in the DataFrame; it has id, v"):
        to_redis(rows, redis.url, key="k")


def test_a_server_that_is_down_fails_the_batch_and_the_next_run_goes_on(
    spark: Any, redis: RedisServer, tmp_path: Path
) -> None:
    source = StreamInput(tmp_path / "input", "id long, name string")

    def stream(retries: Retries) -> Any:
        return to_redis(source.read(spark), redis.url, key="id", prefix="back:", retries=retries)

    source.add({"id": 1, "name": "x"})
    redis.stop()
    starting = threading.Timer(1.0, redis.start)
    try:
        with pytest.raises(
            Exception, match=rf"Redis at 127\.0\.0\.1:{redis.port}: Connection refused\."
        ):
            run_to_end(stream(_AT_ONCE), tmp_path / "checkpoint")
    finally:
        starting.start()
    run_to_end(stream(Retries(seconds=60)), tmp_path / "checkpoint")
    starting.join()
    assert redis.hash("back:1") == {"name": "x"}
