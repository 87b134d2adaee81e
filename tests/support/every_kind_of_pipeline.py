"""A user's file with a pipeline of each kind: the same orders, four ways.

    headrace pipelines run every_kind_of_pipeline.py --once

Small batches, so that there are several of them; what is written keeps nothing of the cluster.
"""

from __future__ import annotations

import json
import os
from typing import Any

from headrace.spark import (
    dead_letters,
    main,
    pipeline,
    split_dead_letters,
    to_parquet,
    to_registry,
    to_topic,
    with_registry,
)

ORDERS, VALIDATED, LETTERS, TOTALS = "orders", "validated", "orders.dlq", "totals"
TOTAL = json.dumps(
    {
        "type": "record",
        "name": "Total",
        "fields": [{"name": "orders", "type": "long"}, {"name": "amount", "type": "long"}],
    }
)


def orders(spark: Any) -> Any:
    """Good and bad ones."""
    reader = spark.readStream.format("headrace").option("subscribe", ORDERS)
    reader = reader.option("includeHeaders", "true").option("maxOffsetsPerTrigger", "300")
    events = reader.option("startingOffsets", "earliest").load()
    decoded = with_registry(events, into="order", topic=ORDERS, url=_registry())
    return split_dead_letters(decoded, "order_error")


def _registry() -> str:
    return os.environ["EVERY_KIND_REGISTRY"]


@pipeline
def validated(spark: Any) -> Any:
    """Each order looked at alone; its partition, headers and time stay as they were."""
    good, _ = orders(spark)
    rows = good.where("order.amount >= 0").selectExpr(
        "key",
        "cast(concat(order.customer, ' ', order.amount * 2) as binary) as value",
        "headers",
        "partition",
        "timestamp",
    )
    return to_topic(rows, topic=VALIDATED, exactly_once=True)


@pipeline
def letters(spark: Any) -> Any:
    """What cannot be decoded."""
    _, bad = orders(spark)
    rows = dead_letters(bad, topic=LETTERS, error="order_error")
    return to_topic(rows, exactly_once=True)


@pipeline(output_mode="update")
def totals(spark: Any) -> Any:
    """Number and sum of the orders of each customer: state, and a registry's Avro out."""
    from pyspark.sql import functions as sql

    good, _ = orders(spark)
    known = good.where("order is not null").selectExpr("order.customer", "order.amount")
    sums = known.groupBy("customer").agg(
        sql.count(sql.lit(1)).alias("orders"), sql.sum("amount").alias("amount")
    )
    value = to_registry(["orders", "amount"], topic=TOTALS, schema=TOTAL, url=_registry())
    rows = sums.select(sums.customer.cast("binary").alias("key"), value.alias("value"))
    return to_topic(rows, topic=TOTALS, exactly_once=True)


@pipeline
def files(spark: Any) -> Any:
    """Everything good as Parquet."""
    good, _ = orders(spark)
    rows = good.selectExpr("*", "order.customer as customer").drop("topic", "order")
    return to_parquet(rows, os.environ["EVERY_KIND_FILES"], partition_by=["partition"])


if __name__ == "__main__":
    main()
