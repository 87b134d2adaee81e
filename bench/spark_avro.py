"""Avro in a registry's wire format: decoded while it is read, and by Spark's own function."""

from typing import Any

from bench.spark_bulk import take_turns
from bench.spark_session import reader
from headrace.testing import EmbeddedKafka
from tests.support.small_registry import small_registry

SCHEMA = """{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"},
  {"name": "customer", "type": "string"},
  {"name": "amount", "type": "double"},
  {"name": "count", "type": "int"},
  {"name": "paid", "type": "boolean"}]}"""

TOPIC = "avro"


def measure_avro(
    spark: Any, node: EmbeddedKafka, count: int, rounds: int
) -> dict[str, list[float]]:
    """Records per second of reading records with five fields, all of them looked at."""
    with small_registry() as registry:
        _fill(spark, node, registry.url, count)

        def read(form: str) -> None:
            frame = _ours(spark, node, registry.url) if form == "headrace" else _peer(spark, node)
            found = frame.selectExpr(
                "COUNT(order.id)",
                "SUM(order.amount + order.count)",
                "SUM(LENGTH(order.customer))",
                "SUM(CAST(order.paid AS INT))",
            )
            assert found.collect()[0][0] == count

        figures = take_turns(read, count, rounds)
    node.delete_topic(TOPIC)
    return figures


def _fill(spark: Any, node: EmbeddedKafka, url: str, count: int) -> None:
    from headrace.spark import to_registry

    node.create_topic(TOPIC, partitions=4)
    frame = spark.range(0, count, 1, 4).selectExpr(
        "id",
        "CONCAT('customer ', id % 1000) AS customer",
        "id * 0.25D AS amount",
        "CAST(id % 7 AS INT) AS count",
        "id % 2 = 0 AS paid",
    )
    value = to_registry(frame.columns, topic=TOPIC, schema=SCHEMA, url=url)
    writer = frame.select(value.alias("value")).write.mode("append").format("headrace")
    writer.option("kafka.bootstrap.servers", node.bootstrap_servers).option("topic", TOPIC).save()


def _ours(spark: Any, node: EmbeddedKafka, url: str) -> Any:
    from headrace.spark import decoded_values

    source = decoded_values(reader(spark, node, "headrace", TOPIC), topic=TOPIC, url=url)
    return source.load().selectExpr("value AS order")


def _peer(spark: Any, node: EmbeddedKafka) -> Any:
    from pyspark.sql.avro.functions import from_avro
    from pyspark.sql.functions import expr

    frame = reader(spark, node, "kafka", TOPIC).load()
    return frame.select(from_avro(expr("SUBSTRING(value, 6)"), SCHEMA).alias("order"))
