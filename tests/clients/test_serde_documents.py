"""The examples of the pages on serializers and the REST proxy run as they are printed."""

import re
import subprocess
from pathlib import Path

from headrace.testing import EmbeddedKafka
from tests.support.rest_server import rest_server
from tests.support.small_registry import small_registry
from tests.support.tools import require_program

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_of_the_serializers_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "serializers.md").read_text(), re.S)
    with small_registry() as registry:
        exec(code.replace("http://localhost:8081", registry.url) + "\nregistry.close()\n", {})


def test_the_curl_examples_of_the_rest_page_answer_as_printed() -> None:
    require_program("curl")
    blocks = re.findall(r"```console\n(.*?)```", (DOCS / "rest-proxy.md").read_text(), re.S)
    steps = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", "".join(blocks), re.M)
    assert len(steps) > 10
    with EmbeddedKafka() as kafka, small_registry() as registry:
        for topic in ("orders", "teas"):
            kafka.create_topic(topic)
        kafka.settings["auto.create.topics.enable"] = "false"
        settings = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "schema.registry.url": registry.url,
        }
        with rest_server(settings) as server:
            address = server.url.removeprefix("http://").replace("127.0.0.1", "localhost")
            # One shell for all, with a mark after each step.
            script = "\n".join(f"{command}\necho; echo =====" for command, _ in steps)
            done = subprocess.run(
                ["bash", "-c", script.replace("localhost:8082", address)],
                capture_output=True,
                text=True,
                timeout=100,
                check=True,
            )
    answers = done.stdout.replace(address, "localhost:8082").split("=====\n")
    for (command, printed), answer in zip(steps, answers[:-1], strict=True):
        wanted = re.escape(printed.strip()).replace("…", ".*")
        shown = "\n".join(line.rstrip("\r") for line in answer.strip().splitlines())
        assert re.fullmatch(wanted, shown, re.S), f"{command}\n{shown}"
