"""What queries of one session share while they start."""

from __future__ import annotations

from typing import Any

from headrace.spark.session import use_in_this_thread
from headrace.testing import EmbeddedKafka


def test_a_query_adds_nothing_to_the_environment_that_all_queries_share(
    spark: Any, node: EmbeddedKafka
) -> None:
    """If Spark adds a name of its own some day, it has to be known to `shared_environment`."""
    use_in_this_thread(spark)
    manager = spark._jsparkSession.sessionState().dataSourceManager()
    shared = manager.lookupDataSource("headrace").dataSourceCls().envVars()
    before = set(shared.keySet())
    topic = node.topic()
    node.produce(topic, ["1"])
    servers = {"kafka.bootstrap.servers": node.bootstrap_servers}
    reader = spark.readStream.format("headrace").options(**servers, startingOffsets="earliest")
    writer = reader.option("subscribe", topic).load().writeStream.format("noop")
    assert writer.trigger(availableNow=True).start().awaitTermination(120)
    assert set(shared.keySet()) == before
    assert shared.size() == len(before)
