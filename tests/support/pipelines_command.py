"""`headrace pipelines` and a file with two pipelines, run as a person would, from a directory."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from headrace.testing import EmbeddedKafka
from tests.support.tools import REPOSITORY

_FILE = '''
import os
from headrace.spark import main, pipeline

def orders(spark):
    reader = spark.readStream.format("headrace").option("subscribe", "orders")
    return reader.option("startingOffsets", "earliest").load()

@pipeline
def copy(spark):
    """Every order as a line of JSON."""
    rows = orders(spark).selectExpr("CAST(value AS STRING) AS value")
    return rows.writeStream.format("json").option("path", os.environ["COPY_DIR"])

@pipeline(trigger="200 milliseconds")
def counts(spark):
    numbers = orders(spark).selectExpr("CAST(CAST(value AS STRING) AS INT) AS n")
    rows = numbers.selectExpr("n % 3 AS k").groupBy("k").count()
    return rows.writeStream.outputMode("update").format("noop")

if __name__ == "__main__":
    main()
'''
SECONDS = 180.0


class PipelinesCommand:
    """`headrace` and `python FILE` with one state directory and one node."""

    def __init__(self, node: EmbeddedKafka, directory: Path) -> None:
        self.node = node
        self.file = directory / "orders.py"
        self.file.write_text(_FILE)
        self.copies = directory / "copies"
        self.environment = {
            **os.environ,
            "HEADRACE_STATE_DIR": str(directory / "state"),
            "KAFKA_BOOTSTRAP_SERVERS": node.bootstrap_servers,
            "COPY_DIR": str(self.copies),
            "PYTHONPATH": str(REPOSITORY / "src"),
        }
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A Python program."""
        return self.start_program(sys.executable, *arguments)

    def start_program(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.file.parent,
        )
        self.started.append(process)
        return process

    def start_headrace(self, *arguments: str) -> subprocess.Popen[str]:
        return self.start("-m", "headrace.cli.main", *arguments)

    def headrace(self, *arguments: str, code: int = 0) -> str:
        return self.end(self.start_headrace(*arguments), code)

    def end(self, process: subprocess.Popen[str], code: int = 0) -> str:
        output = process.communicate(timeout=SECONDS)[0]
        assert process.returncode == code, output
        return output

    def run_once(self, *names: str, code: int = 0) -> str:
        return self.headrace("pipelines", "run", "orders.py", *names, "--once", code=code)

    def status(self, name: str) -> dict[str, Any]:
        path = Path(self.environment["HEADRACE_STATE_DIR"], name, "status.json")
        return json.loads(path.read_text()) if path.exists() else {}

    def copied(self) -> Counter[str]:
        lines = [
            line for file in self.copies.glob("*.json") for line in file.read_text().splitlines()
        ]
        return Counter(json.loads(line)["value"] for line in lines)

    def lag(self, group: str) -> list[int]:
        output = self.headrace("consumer-groups", "--describe", "--group", group, "-o", "json")
        (found,) = json.loads(output)["groups"]
        return [row["lag"] for row in found["offsets"]]

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def produce(self, first: int, count: int) -> None:
        """The numbers as orders."""
        values = [str(n) for n in range(first, first + count)]
        self.node.produce("orders", values, keys=values)


def each_once(count: int) -> Counter[str]:
    return Counter(str(n) for n in range(count))
