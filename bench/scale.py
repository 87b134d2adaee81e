"""How much work one measurement is: large enough to be steady, small enough to repeat.

The counts include the warm-up records of the client's JVM, which no rate counts. On two cores its
compilers work beside the program for 10 to 25 seconds and take up to a core of the broker's or of
the client's; the warm table measures after that. In the first minute the client warms up for a
shorter while, since the broker is warming up with it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Amount:
    """Records of one client program, the first of them unmeasured."""

    records: int
    warmup: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Records of every workload, and the rounds of both tables."""

    produce_defaults: Amount
    produce_64k: Amount
    produce_lz4: Amount
    produce_single: Amount
    consume_librdkafka: Amount
    consume_java: Amount
    latency: Amount
    latency_librdkafka: Amount
    warmup_rounds: int = 3
    rounds: int = 5

    @property
    def consume_records(self) -> int:
        """Records that must lie in the log for the consumers."""
        return max(self.consume_librdkafka.records, self.consume_java.records)


WARM = Scale(
    produce_defaults=Amount(16_000_000, 12_000_000),
    produce_64k=Amount(18_000_000, 14_000_000),
    produce_lz4=Amount(16_000_000, 13_000_000),
    # Few of them: the client queues them at once, and counts from there on until all are sent.
    produce_single=Amount(300_000, 30_000),
    consume_librdkafka=Amount(5_000_000, 0),
    consume_java=Amount(5_000_000, 25_000_000),
    latency=Amount(65_000, 50_000),
    latency_librdkafka=Amount(15_000, 3_000),
)

#: What the rounds before those do: the broker is what they warm up.
UNMEASURED = Scale(
    produce_defaults=Amount(4_000_000, 1_000_000),
    produce_64k=Amount(5_000_000, 1_000_000),
    produce_lz4=Amount(4_000_000, 1_000_000),
    produce_single=Amount(100_000, 30_000),
    consume_librdkafka=Amount(5_000_000, 0),
    consume_java=Amount(5_000_000, 5_000_000),
    latency=Amount(15_000, 3_000),
    latency_librdkafka=Amount(15_000, 3_000),
)

FIRST_MINUTE = Scale(
    produce_defaults=Amount(2_500_000, 500_000),
    produce_64k=Amount(3_500_000, 500_000),
    produce_lz4=Amount(2_500_000, 500_000),
    produce_single=Amount(120_000, 10_000),
    consume_librdkafka=Amount(5_000_000, 0),
    consume_java=Amount(5_000_000, 500_000),
    latency=Amount(10_000, 500),
    latency_librdkafka=Amount(10_000, 500),
    warmup_rounds=0,
)

#: Shows that everything works; its figures are too noisy to publish.
QUICK = Scale(
    produce_defaults=Amount(500_000, 100_000),
    produce_64k=Amount(500_000, 100_000),
    produce_lz4=Amount(400_000, 100_000),
    produce_single=Amount(15_000, 3_000),
    consume_librdkafka=Amount(500_000, 0),
    consume_java=Amount(500_000, 100_000),
    latency=Amount(1_500, 300),
    latency_librdkafka=Amount(1_500, 300),
    warmup_rounds=1,
    rounds=1,
)
