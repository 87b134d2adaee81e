"""The order pipelines: checks, what follows from them, and sales, on Spark.

    headrace pipelines run examples/orders/pipelines.py --registry-url http://localhost:8081

`checks` says PASS or FAIL three times for each new order; `decisions` waits for all three and says
VALIDATED or FAILED once; `sales` adds up what was sold, minute by minute. All of them write in
transactions, one for each batch: whatever fails and starts again, every result is in its topic
exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter, StatefulProcessor, StatefulProcessorHandle

from headrace.spark import from_registry, main, pipeline, to_registry, to_topic

#: More pieces than this nobody means to order.
QUANTITY_MAX = 100
#: What one customer may spend within a minute.
SPENT_CENTS_MAX = 100_000
#: An order that reached us later than this is not counted in the minute it was placed.
LATE_AFTER = "2 minutes"

REASONS = {
    "fraud": "too much was spent in too short a time",
    "inventory": "there is not enough left",
}
RESULT = "order_id string, received_ms long, check string, outcome string, reason string"


@pipeline(trigger="1 second")
def checks(spark: SparkSession) -> DataStreamWriter:
    """PASS or FAIL of details, fraud and inventory for each new order."""
    catalogue = spark.read.csv(
        str(Path(__file__).with_name("catalogue.csv")),
        header=True,
        schema="product string, catalogue_cents long, stock long",
    )
    new = read(spark, "orders").where("state = 'CREATED'").join(catalogue, "product", "left")
    results = details(new).unionByName(allowances(new))
    written = records(results, "order-validations", F.col("order_id"))
    return to_topic(written, exactly_once=True).outputMode("update")


@pipeline(trigger="1 second")
def decisions(spark: SparkSession) -> DataStreamWriter:
    """VALIDATED or FAILED for each order whose three checks are there."""
    failure = F.when(F.col("outcome") == "FAIL", F.col("reason"))
    orders = (
        read(spark, "order-validations")
        .withWatermark("received_at", "1 hour")  # what Spark may forget of older orders
        .groupBy("order_id", "received_at")
        .agg(F.count("*").alias("checks"), F.sort_array(F.collect_set(failure)).alias("reasons"))
    )
    # Each result changes its order's row once, and the third one completes it.
    decided = orders.where("checks = 3").select(
        "order_id",
        F.when(F.size("reasons") == 0, "VALIDATED").otherwise("FAILED").alias("state"),
        F.array_join("reasons", ", ").alias("reason"),
    )
    written = records(decided, "order-decisions", F.col("order_id"))
    return to_topic(written, exactly_once=True).outputMode("update")


@pipeline(trigger="2 seconds")
def sales(spark: SparkSession) -> DataStreamWriter:
    """Revenue per minute, in all and by product; orders that came late go to their own topic."""
    valid = (
        read(spark, "orders")
        .where("state = 'VALIDATED'")
        # A clock that is ahead must not end the minute for everybody else.
        .withColumn("placed_at", F.least("placed_at", "received_at"))
    )
    is_late = F.expr(f"received_at > placed_at + interval {LATE_AFTER}")
    per_minute = (
        valid.where(~is_late)
        .withWatermark("placed_at", "10 minutes")
        # Each order counts for its product, and for no product, which means all of them.
        .withColumn("product", F.explode(F.array("product", F.lit(None))))
        .groupBy(F.window("placed_at", "1 minute"), "product")
        .agg(
            F.count("*").alias("orders"),
            F.sum("quantity").cast("long").alias("pieces"),
            F.sum(F.col("quantity") * F.col("price_cents")).alias("revenue_cents"),
        )
        .withColumn("minute", F.col("window.start"))
        .drop("window")
    )
    counted = records(per_minute, "sales", F.concat_ws(" ", "minute", "product"))
    late = records(valid.where(is_late), "late-orders", F.col("id"))
    return to_topic(counted.unionByName(late), exactly_once=True).outputMode("update")


# -------------------------------------------------------------------- checks


def details(orders: DataFrame) -> DataFrame:
    """Does the order make sense by itself?"""
    reason = (
        F.when(F.col("catalogue_cents").isNull(), "this is not in the catalogue")
        .when(F.col("quantity") < 1, "nothing is ordered")
        .when(F.col("quantity") > QUANTITY_MAX, "that is too much for a household")
        .when(F.col("price_cents") != F.col("catalogue_cents"), "the price is not ours")
        .otherwise("")
    )
    return orders.select(
        F.col("id").alias("order_id"),
        "received_at",
        F.lit("details").alias("check"),
        F.when(reason == "", "PASS").otherwise("FAIL").alias("outcome"),
        reason.alias("reason"),
    )


def allowances(orders: DataFrame) -> DataFrame:
    """Fraud: what may a customer spend in a minute? Inventory: what is left of a product?

    Both ask whether an amount still fits below a limit, and share one operator that keeps state.
    """
    minute = (F.unix_timestamp("received_at") / 60).cast("long")
    total = F.col("quantity") * F.col("price_cents")
    stock = F.coalesce("stock", F.lit(0))
    return (
        orders.select(
            F.col("id").alias("order_id"),
            F.unix_millis("received_at").alias("received_ms"),
            F.explode(
                F.array(
                    claim("fraud", "customer", minute, total, F.lit(SPENT_CENTS_MAX)),
                    claim("inventory", "product", F.lit(0), F.col("quantity"), stock),
                )
            ).alias("claim"),
        )
        .select("order_id", "received_ms", "claim.*")
        .groupBy("check", "subject")
        .transformWithState(Allowance(), RESULT, outputMode="Update", timeMode="None")
        .withColumn("received_at", F.timestamp_millis("received_ms"))
        .drop("received_ms")
    )


def claim(check: str, subject: str, period: Column, amount: Column, limit: Column) -> Column:
    """A subject wants an amount, of which the limit is there in each period."""
    return F.struct(
        F.lit(check).alias("check"),
        F.col(subject).alias("subject"),
        period.cast("long").alias("period"),
        amount.cast("long").alias("amount"),
        limit.cast("long").alias("limit"),
    )


class Allowance(StatefulProcessor):  # type: ignore[misc]
    """Grants amounts up to a limit in each period, first come, first served."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._used = handle.getValueState("used", "period long, amount long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        check, _subject = key
        period, used = self._used.get() or (0, 0)
        for row in sorted(rows, key=lambda row: (row.received_ms, row.order_id)):
            if row.period > period:
                period, used = row.period, 0
            fits = used + row.amount <= row.limit
            used += row.amount if fits else 0
            yield Row(
                order_id=row.order_id,
                received_ms=row.received_ms,
                check=check,
                outcome="PASS" if fits else "FAIL",
                reason="" if fits else REASONS[check],
            )
        self._used.update((period, used))


# -------------------------------------------------------------------- topics


def read(spark: SparkSession, topic: str) -> DataFrame:
    """The values of a topic from its beginning, without those of aborted transactions."""
    return (
        spark.readStream.format("headrace")
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .load()
        .select(from_registry("value", topic=topic, on_error="fail").alias("it"))
        .select("it.*")
    )


def records(rows: DataFrame, topic: str, key: Column) -> DataFrame:
    """Rows as records for a topic, in the schema that the registry has for it."""
    return rows.select(
        F.lit(topic).alias("topic"),
        key.cast("binary").alias("key"),
        to_registry(rows.columns, topic=topic).alias("value"),
    )


if __name__ == "__main__":
    main()
