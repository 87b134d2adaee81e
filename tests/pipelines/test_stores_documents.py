"""The examples of docs/stores.md, run from top to bottom."""

import datetime
import re
from pathlib import Path
from typing import Any

from headrace.testing import EmbeddedKafka
from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import RedisServer
from tests.support.tools import REPOSITORY

_CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_page_work(spark: Any, node: EmbeddedKafka, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    node.create_topic("orders", partitions=2)
    orders = [b'{"amount": "%d.50"}' % number for number in range(10)]
    node.produce("orders", orders, [b"o%d" % (number % 5) for number in range(10)])
    (tmp_path / "redis").mkdir()
    with PostgresServer() as postgres, RedisServer(tmp_path / "redis") as redis:
        names: dict[str, Any] = {
            "spark": spark,
            "bootstrap": node.bootstrap_servers,
            "directory": str(tmp_path),
            "redis_url": redis.url,
            "dsn": postgres.dsn,
        }
        for example in _CODE.findall((REPOSITORY / "docs" / "stores.md").read_text()):
            exec(example, names)
        ((day, revenue),) = postgres.query("SELECT day, revenue FROM revenue")
        assert isinstance(day, datetime.date)
        assert float(revenue) == sum(number + 0.5 for number in range(10))
        assert redis.hash("order:o3") == {"amount": "8.50"}
    assert spark.read.parquet(f"{tmp_path}/orders").count() == 10
    lake = DeltaTable(f"{tmp_path}/lake/orders").to_pyarrow_table()
    assert sorted(lake["id"].to_pylist()) == [f"o{number}" for number in range(5)]
    assert names["done"].offsets == 10
