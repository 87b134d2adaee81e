"""A stream that a test feeds batch by batch, and queries that run to its end."""

import json
import os
from pathlib import Path
from typing import Any


class StreamInput:
    """A directory of JSON lines that Spark streams from, a file a batch."""

    def __init__(self, directory: Path, schema: str) -> None:
        directory.mkdir(exist_ok=True)
        self._directory = directory
        self._schema = schema
        self._count = 0

    def add(self, *rows: dict[str, Any]) -> None:
        draft = self._directory / f".{self._count}"
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark takes files in the order of their times, which it knows to the millisecond.
        os.utime(draft, (1_700_000_000 + self._count,) * 2)
        draft.rename(self._directory / f"{self._count:04}.json")
        self._count += 1

    def read(self, spark: Any) -> Any:
        return (
            spark.readStream.schema(self._schema)
            .option("maxFilesPerTrigger", 1)
            .json(str(self._directory))
        )


def run_to_end(writer: Any, checkpoint: Path) -> None:
    """Run a query over what is there; its failure is raised."""
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        if not query.awaitTermination(240):
            raise AssertionError("the query did not come to its end")
    finally:
        query.stop()


def forget_last_commit(checkpoint: Path) -> None:
    """As if the driver had died behind the batch: Spark will write it again."""
    commits = checkpoint / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
