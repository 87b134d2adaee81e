"""The examples of docs/schema-registry.md, run with curl in their order."""

import json
import os
import re
import subprocess
from pathlib import Path

from headrace.testing import EmbeddedKafka
from tests.support.headrace_node import headrace
from tests.support.schema_registry import SchemaRegistry
from tests.support.tools import REPOSITORY, require_program

PAGE = (REPOSITORY / "docs" / "schema-registry.md").read_text()


def test_the_curl_examples_answer_what_the_page_says(tmp_path: Path) -> None:
    require_program("curl")
    examples = re.findall(r"```sh\n(curl .*?)\n```\n```json\n(.*?)\n```", PAGE, re.S)
    assert len(examples) >= 10
    with EmbeddedKafka() as kafka, SchemaRegistry(tmp_path, kafka.bootstrap_servers) as registry:
        environment = {**os.environ, "URL": registry.url, "no_proxy": "127.0.0.1"}
        for command, answer in examples:
            done = subprocess.run(
                ["bash", "-c", command],
                env=environment,
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
            )
            assert json.loads(done.stdout) == json.loads(answer), command


def test_schemas_are_checked_registered_and_compared_from_the_command_line(tmp_path: Path) -> None:
    old, new = tmp_path / "old.avsc", tmp_path / "new.avsc"
    old.write_text('{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
    new.write_text('{"type":"record","name":"R","fields":[{"name":"b","type":"int"}]}')
    assert headrace("schemas", "diff", str(old), str(old)).stdout == "compatible\n"
    differing = headrace("schemas", "diff", str(old), str(new), check=False)
    assert differing.returncode == 1
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in differing.stdout
    with EmbeddedKafka() as kafka, SchemaRegistry(tmp_path, kafka.bootstrap_servers) as registry:
        url = ("--schema-registry", registry.url)
        told = headrace("schemas", "register", *url, f"r-value={old}").stdout
        assert told == "r-value: id 1, version 1\n"
        assert (
            headrace("schemas", "check", *url, f"r-value={old}").stdout == "r-value: compatible\n"
        )
        refused = headrace("schemas", "check", *url, f"r-value={new}", check=False)
        assert refused.returncode == 1
        assert "NOT compatible" in refused.stdout
        failed = headrace("schemas", "register", *url, f"r-value={new}", check=False)
        assert failed.returncode == 1
        assert "409" in failed.stderr
