"""The registry under requests made from its own OpenAPI description, valid ones and others."""

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.schema_registry import SchemaRegistry

pytestmark = pytest.mark.no_second_chance

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance"


def test_no_request_of_the_description_makes_the_registry_fail(tmp_path: Path) -> None:
    with EmbeddedKafka() as kafka, SchemaRegistry(tmp_path, kafka.bootstrap_servers) as registry:
        registry.register("s", '"int"')
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{registry.url}/openapi.json"),
                *("--checks", CHECKS, "--max-examples", "25", "--seed", "1"),
                *("--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert registry.ask("GET", "/subjects").status == 200
