"""kill -9 of driver, JVM and workers in the middle of batches, into all stores at once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset
import pytest

from tests.support.postgres_server import PostgresServer
from tests.support.readiness import eventually
from tests.support.redis_server import RedisServer
from tests.support.spark import require_spark
from tests.support.store_driver import SCHEMA
from tests.support.stream_input import StreamInput
from tests.support.tools import REPOSITORY

pytestmark = pytest.mark.no_second_chance

_BATCHES = 5
_ROWS = 40


@pytest.mark.timeout(900)  # four starts of Spark, on a machine that may be busy
def test_nothing_is_lost_or_double_after_kills_and_lost_tasks(tmp_path: Path) -> None:
    require_spark()
    from deltalake import DeltaTable

    source = StreamInput(tmp_path / "input", SCHEMA)
    for batch in range(_BATCHES):
        first = batch * _ROWS
        source.add(*({"id": first + n, "name": f"n{first + n}"} for n in range(_ROWS)))
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "redis").mkdir()
    with PostgresServer() as postgres, RedisServer(tmp_path / "redis") as redis:
        given = {
            "input": str(tmp_path / "input"),
            "out": str(out),
            "checkpoint": str(tmp_path / "checkpoint"),
            "dsn": postgres.dsn,
            "redis": redis.url,
        }

        def staged_rows() -> bool:
            staged = "SELECT 1 FROM pg_class WHERE relname LIKE 'headrace_staging%'"
            return postgres.query(staged) != []

        run(given, until=lambda: any(out.glob("parquet/_headrace/*/staging-1-*/data")))
        run(given, until=staged_rows)
        versions = len(list(out.glob("delta/_delta_log/*.json")))
        run(given, until=lambda: len(list(out.glob("delta/_delta_log/*.json"))) > versions)
        run(given)

        expected = list(range(_BATCHES * _ROWS))
        parquet = pyarrow.dataset.dataset(out / "parquet", format="parquet").to_table()
        assert sorted(parquet["id"].to_pylist()) == expected
        delta = DeltaTable(str(out / "delta")).to_pyarrow_table()
        assert sorted(delta["id"].to_pylist()) == expected
        rows = postgres.query("SELECT id FROM killed ORDER BY id")
        assert [row[0] for row in rows] == expected
        assert redis.ask("DBSIZE") == str(len(expected))
        assert redis.ask("GET", "7") == "n7"
        assert not staged_rows()
        assert not list(out.glob("*/_headrace/*/staging-*"))


def run(given: dict[str, str], until: Callable[[], bool] | None = None) -> None:
    """The driver to its end, or until it is killed with everything that it started."""
    output = Path(given["out"]).parent / "driver"
    with output.open("ab") as stream:
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.support.store_driver", json.dumps(given)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=REPOSITORY,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            start_new_session=True,
        )
    try:
        if until is None:
            assert driver.wait(300) == 0, output.read_text()[-4000:]
        else:
            eventually(until, timeout=240)
            assert driver.poll() is None, "the driver ended before it was killed"
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
