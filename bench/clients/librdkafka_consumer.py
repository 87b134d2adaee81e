"""Reads assigned partitions from their beginning with confluent-kafka, on its defaults but one.

librdkafka rests for a second whenever its queue of fetched records is full. With that, any broker
comes out at about 150,000 records a second; so here it rests for a hundredth of one.

Arguments: bootstrap topic partitions records seconds-at-most. Prints one line of JSON.
"""

import json
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

_MESSAGES_PER_CALL = 10_000


def main(bootstrap: str, topic: str, partitions: int, records: int, seconds_most: float) -> None:
    # librdkafka insists on a group; assigned partitions never join it.
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 10,
        }
    )
    started = time.monotonic()
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(partitions)])
    read = 0
    while read < records:
        if time.monotonic() - started > seconds_most:
            raise SystemExit(f"read only {read} of {records} records")
        messages = consumer.consume(min(_MESSAGES_PER_CALL, records - read), timeout=1.0)
        for message in messages:
            if message.error() is not None:
                raise SystemExit(f"{message.error()}")
        read += len(messages)
    seconds = time.monotonic() - started
    consumer.close()
    print(json.dumps({"records": read, "seconds": seconds}))


if __name__ == "__main__":
    _bootstrap, _topic, _partitions, _records, _seconds = sys.argv[1:]
    main(_bootstrap, _topic, int(_partitions), int(_records), float(_seconds))
