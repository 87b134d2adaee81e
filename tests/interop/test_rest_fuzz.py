"""The REST proxy under requests made from its own OpenAPI description, valid ones and others."""

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.clients.rest import Rest
from tests.support.rest_server import rest_server
from tests.support.small_registry import small_registry

pytestmark = pytest.mark.no_second_chance

CHECKS = "not_a_server_error,status_code_conformance,response_schema_conformance"


def test_no_request_of_the_description_makes_the_proxy_fail(tmp_path: Path) -> None:
    with EmbeddedKafka() as kafka, small_registry() as registry:
        kafka.create_topic("orders", 2)
        settings = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "schema.registry.url": registry.url,
        }
        with rest_server(settings) as server:
            rest = Rest(server.url)
            cluster_id = rest.cluster.rpartition("/")[2]
            # Names that exist lead requests further in.
            config = tmp_path / "schemathesis.toml"
            config.write_text(
                f'[parameters]\n"path.cluster_id" = "{cluster_id}"\n'
                '"path.topic" = "orders"\n"path.topic_name" = "orders"\n"path.broker_id" = "1"\n'
            )
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
                    *("run", f"{server.url}/openapi.json", "--checks", CHECKS, "--seed", "1"),
                    *("--phases", "coverage,fuzzing", "--max-examples", "12"),
                    # It would delete the topic under the others' feet.
                    *("--exclude-path-regex", r"/topics/\{topic_name\}$"),
                ],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=110,
                check=False,
            )
            assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
            assert "orders" in rest.ask("GET", "/topics").json()
            rest.close()
