"""How much memory a reader takes, whatever the size of the topic."""

import threading
from pathlib import Path
from typing import Any

from bench.spark_session import fill, reader
from headrace.testing import EmbeddedKafka


def measure_memory(spark: Any, node: EmbeddedKafka, gigabytes: int) -> dict[str, float]:
    """The largest resident size (MB) of a Python worker while it reads values of 1 KB."""
    topic = f"memory-{gigabytes}"
    count = gigabytes * 1_000_000
    fill(spark, node, topic, count, size=1_000)
    with _Watch() as watch:
        frame = reader(spark, node, "headrace", topic).load()
        assert frame.selectExpr("COUNT(*)", "SUM(LENGTH(value))").collect()[0][0] == count
    node.delete_topic(topic)
    return {"gigabytes": gigabytes, "worker MB": watch.largest / 1e6}


class _Watch:
    """Looks at Spark's Python workers again and again."""

    def __init__(self) -> None:
        self.largest = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "_Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.05):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                        pages = int((process / "statm").read_text().split()[1])
                        self.largest = max(self.largest, pages * 4096)
                except OSError:
                    continue
