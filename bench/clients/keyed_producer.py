"""Fills a topic with records whose keys come again and again, for compaction.

Arguments: bootstrap topic records distinct-keys record-size seconds-at-most.
"""

import os
import sys
import time

from confluent_kafka import Producer

_RECORDS_PER_POLL = 1_000


def main(bootstrap: str, topic: str, records: int, keys: int, size: int, seconds: float) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "batch.size": 262_144,
            "queue.buffering.max.messages": 200_000,
            "message.timeout.ms": int(seconds * 1000),
        }
    )
    deadline = time.monotonic() + seconds
    value = os.urandom(size)
    for index in range(records):
        key = b"key-%d" % (index % keys)
        while True:
            try:
                producer.produce(topic, key=key, value=value, partition=0)
                break
            except BufferError:
                producer.poll(0.05)
        if index % _RECORDS_PER_POLL == 0:
            producer.poll(0)
            if time.monotonic() > deadline:
                raise SystemExit(f"sent only {index} of {records} records")
    left = producer.flush(seconds)
    if left:
        raise SystemExit(f"{left} records were not acknowledged")


if __name__ == "__main__":
    _bootstrap, _topic, _records, _keys, _size, _seconds = sys.argv[1:]
    main(_bootstrap, _topic, int(_records), int(_keys), int(_size), float(_seconds))
