"""The documents say what is so: links, paths, names, lists and examples are checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.cli.absent_tools import ABSENT_TOOLS
from headrace.cli.tools import THEMES
from headrace.client.blocking import KafkaClient
from headrace.protocol.apis import ApiKey, api_name
from headrace.server.node import Node
from headrace.testing import EmbeddedKafka
from headrace.testing.topics import create_topic
from tests.support.talk import produce
from tests.unit.server.nodes import formatted, page, run, with_client

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
#: The benchmarks' page also names what a run of them leaves behind.
DOCUMENTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    if path.name != "BENCHMARKS.md"
)


def text(name: str) -> str:
    return (ROOT / name).read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if not target.startswith("http") and not target.endswith(".svg"):
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_of_the_repository_exist(document: Path) -> None:
    for target in re.findall(
        r"`((?:src|tests|docs|bench|examples)/[^`\s*]*)`", document.read_text()
    ):
        assert (ROOT / target).exists(), target


def test_modules_named_in_the_architecture_exist() -> None:
    for target in re.findall(r"`((?!src/)[a-z_]+/[a-z_/]+\.py)`", text("ARCHITECTURE.md")):
        assert (ROOT / "src" / "headrace" / target).exists(), target


def test_every_tool_is_listed_and_no_other() -> None:
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", text("docs/tools.md"), re.M)
    assert listed == [tool.name for tools in THEMES.values() for tool in tools]


def test_the_gaps_list_exactly_the_tools_that_are_not_there() -> None:
    section = text("docs/GAPS.md").partition("## Tools that are not there")[2].partition("\n## ")[0]
    listed = re.findall(r"`([a-z-]+)`", section)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(ABSENT_TOOLS)


def test_settings_named_in_the_configuration_exist() -> None:
    section = text("docs/configuration.md").partition("## Settings that act")[2]
    section = section.partition("## Logs")[0]
    named = re.findall(r"`([a-z]+(?:\.[a-z]+)+(?:\.\*)?)`", section)
    assert len(named) > 50
    for name in named:
        prefix = name.removesuffix("*")
        assert any(known == name or known.startswith(prefix) for known in BROKER_SETTINGS), name


def test_the_gaps_list_exactly_the_apis_that_are_not_served() -> None:
    section = text("docs/GAPS.md").partition("## APIs that are not served")[2].partition("\n## ")[0]
    listed = [
        name.strip()
        for row in re.findall(r"^\| [a-z ]+ \| ([A-Z][a-z].*) \|$", section, re.M)
        for name in row.split(",")
    ]
    with EmbeddedKafka(in_process=True) as kafka:
        answer = kafka.client.any_node().api_versions
    served = {api_name(ApiKey(api.api_key)) for api in answer.api_keys}
    assert len(listed) == len(set(listed))
    assert set(listed) == {api_name(api) for api in ApiKey} - served


def test_every_metric_of_the_page_is_documented_and_no_other(tmp_path: Path) -> None:
    async def story(node: Node) -> str:
        def work(client: KafkaClient) -> None:
            create_topic(client, "orders", 1, {})
            produce(client, "orders", [b"x"])

        await with_client(node, work)
        node.metrics.count_error(0, 1)
        return (await page(node, "/metrics"))[1]

    settings = {"headrace.metrics.listener": "127.0.0.1:0"}
    shown = run(formatted(tmp_path / "data", settings), story)
    families = re.findall(r"^# TYPE (\S+)", shown, re.M)
    documented = re.findall(r"^\| `([a-z_]+)` \|", text("docs/metrics.md"), re.M)
    assert sorted(documented) == sorted(families)


def test_the_examples_of_the_testing_page_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n# (test_\w+)\.py\n(.*?)```", text("docs/testing.md"), re.S)
    assert len(blocks) == 3
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    pytester.plugins = ["headrace.testing.pytest_plugin"]
    for name, code in blocks:
        pytester.makepyfile(**{name: code})
    (settings,) = re.findall(r"```ini\n(.*?)```", text("docs/testing.md"), re.S)
    pytester.makeini(settings)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)
