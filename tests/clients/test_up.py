"""`headrace up` takes its settings from the environment too, as confluent-kafka sees it."""

import os
import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic


def test_variables_lie_between_the_defaults_and_the_options(tmp_path: Path) -> None:
    variables = {
        "KAFKA_NUM_PARTITIONS": "7",
        "KAFKA_MESSAGE_MAX_BYTES": "5000",
        "KAFKA_LOG_DIRS": str(tmp_path / "elsewhere"),
        "KAFKA_REST_ID": "of the proxy",
    }
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "headrace.cli.main", "up", "--node-only", "--port", "0"),
            *("--data", str(tmp_path / "data"), "--override", "message.max.bytes=6000"),
            *("--override", "foo.bar=1"),
        ],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as up:
        assert up.stdout is not None
        try:
            lines = [up.stdout.readline().split() for _ in range(2)]
            admin = AdminClient({"bootstrap.servers": lines[1][-1]})
            admin.create_topics([NewTopic("orders")])["orders"].result(30)
            partitions = admin.list_topics("orders", timeout=30).topics["orders"].partitions
            broker = ConfigResource(ConfigResource.Type.BROKER, "1")
            settings = admin.describe_configs([broker])[broker].result(30)
        finally:
            up.terminate()
            _, log = up.communicate(timeout=30)
    assert len(partitions) == 7
    assert settings["message.max.bytes"].value == "6000"
    assert settings["log.dirs"].value == str(tmp_path / "data")
    warnings = [line for line in log.splitlines() if " WARNING " in line]
    assert len(warnings) == 1
    assert "Unknown property foo.bar (--override) is ignored." in warnings[0]
