"""The time from produce() until a consumer in the same program has it, with confluent-kafka.

One record in flight, no linger: what a Python program sees that waits for its own record.

Arguments: bootstrap topic records warmup-records record-size seconds-at-most. Prints one line of
JSON.
"""

import json
import sys
import time

from confluent_kafka import OFFSET_END, Consumer, KafkaError, Message, Producer, TopicPartition


def main(
    bootstrap: str, topic: str, records: int, warmup: int, size: int, seconds_most: float
) -> None:
    deadline = time.monotonic() + seconds_most
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    # librdkafka insists on a group; assigned partitions never join it.
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    _await_end(consumer, deadline)
    value = bytes(size)
    times = [_exchange(producer, consumer, topic, value, deadline) for _ in range(records)]
    producer.flush(10)
    consumer.close()
    times = sorted(times[warmup:])
    figures = {
        name: times[int(len(times) * fraction)] * 1000
        for name, fraction in (("p50_ms", 0.5), ("p99_ms", 0.99), ("p999_ms", 0.999))
    }
    print(json.dumps({"records": len(times), **figures}))


def _await_end(consumer: Consumer, deadline: float) -> None:
    """Until the consumer waits at the end of the log, a record could pass it by."""
    while True:
        message = _poll(consumer, deadline)
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            return


def _exchange(
    producer: Producer, consumer: Consumer, topic: str, value: bytes, deadline: float
) -> float:
    began = time.perf_counter()
    producer.produce(topic, value, partition=0)
    while _poll(consumer, deadline).error() is not None:
        pass  # the end of the log, again
    took = time.perf_counter() - began
    producer.poll(0)
    return took


def _poll(consumer: Consumer, deadline: float) -> Message:
    while True:
        message = consumer.poll(1.0)
        if message is not None:
            return message
        if time.monotonic() > deadline:
            raise SystemExit("no record within the time allowed")


if __name__ == "__main__":
    _bootstrap, _topic, *_amounts = sys.argv[1:]
    _records, _warmup, _size, _seconds = map(int, _amounts)
    main(_bootstrap, _topic, _records, _warmup, _size, _seconds)
