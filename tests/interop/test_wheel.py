"""Headrace as users get it: a wheel in an environment of its own, away from the checkout."""

import re
import subprocess
import textwrap
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.child import Child
from tests.support.installed_wheel import Installed, install_wheel
from tests.support.readiness import eventually, tail
from tests.support.tools import REPOSITORY


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.timeout(400)
def test_the_wheel_has_the_package_its_licence_and_its_types(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert "headrace/py.typed" in names
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "bench/", "examples/"))]
    location = installed.run(str(installed.python), "-c", "import headrace; print(headrace)")
    assert str(REPOSITORY) not in location


@pytest.mark.timeout(400)
def test_the_wheel_asks_for_what_a_node_needs(installed: Installed) -> None:
    """The environment has the pins of `core.in`, so nothing else would notice what is not named."""
    given = (REPOSITORY / "requirements" / "core.in").read_text().splitlines()
    pinned = [Requirement(line) for line in given if line and not line.startswith("#")]
    with zipfile.ZipFile(installed.wheel) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith("dist-info/METADATA")]
        asked = message_from_bytes(wheel.read(name)).get_all("Requires-Dist", [])
    core = [one for one in map(Requirement, asked) if "extra" not in str(one.marker)]
    assert {(one.name, str(one.marker)) for one in core} == {
        (one.name, str(one.marker)) for one in pinned
    }
    assert "No broken requirements" in installed.run(str(installed.python), "-m", "pip", "check")


def test_the_command_says_its_version(installed: Installed) -> None:
    assert re.match(
        r"headrace \d+\.\d+\S* \(Kafka 4\.3\)", installed.run(installed.headrace, "--version")
    )
    assert "topics" in installed.run(installed.headrace, "--help")


@pytest.fixture
def up(installed: Installed, tmp_path: Path) -> Iterator[str]:
    """`headrace up`, and the address it prints."""
    child = Child(tmp_path / "up.out")
    command = [installed.headrace, "up", "--port", "0", "--data", str(tmp_path / "data")]
    away = ("env", "-u", "PYTHONPATH", "-C", str(installed.home))
    eager = {"KAFKA_LOG_CLEANER_BACKOFF_MS": "100"}
    child.start([*away, *command], env={**installed.environment, **eager})
    address = re.compile(r"127\.0\.0\.1:\d+|localhost:\d+")
    try:
        eventually(lambda: address.search(child.output.read_text()) is not None)
        yield address.findall(child.output.read_text())[0]
        assert child.stop() == 0
    except BaseException:
        child.kill()
        print(tail(child.output))
        raise


def test_a_node_comes_up_and_the_tools_talk_to_it(installed: Installed, up: str) -> None:
    server = ("--bootstrap-server", up)
    installed.run(installed.headrace, "topics", *server, "--create", "--topic", "orders")
    assert installed.run(installed.headrace, "topics", *server, "--list") == "orders\n"
    described = installed.run(
        installed.headrace, "configs", *server, "--describe", "--topic", "orders"
    )
    assert described.startswith("Dynamic configs for topic orders are:")


def test_the_embedded_node_works_without_any_extra(installed: Installed) -> None:
    program = """
        from headrace.testing import EmbeddedKafka

        with EmbeddedKafka() as kafka:
            topic = kafka.topic(partitions=2)
            kafka.produce(topic, ["one", "two"], ["k", "k"])
            print([(record.key, record.value) for record in kafka.consume(topic, 2)])
    """
    source = installed.home / "embedded.py"
    source.write_text(textwrap.dedent(program))
    read = installed.run(str(installed.python), str(source))
    assert read == "[(b'k', b'one'), (b'k', b'two')]\n"


def test_pytest_finds_the_fixture_of_the_wheel(installed: Installed) -> None:
    pins = installed.home / "pytest.txt"
    pins.write_text(_pins_of("iniconfig", "packaging", "pluggy", "pygments", "pytest"))
    pip = (str(installed.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    installed.run(*pip, "--require-hashes", "-r", str(pins))
    program = """
        def test_a_record_goes_in_and_out(kafka):
            topic = kafka.topic()
            kafka.produce(topic, ["hello"])
            assert [record.value for record in kafka.consume(topic, 1)] == [b"hello"]
    """
    (installed.home / "test_fixture.py").write_text(textwrap.dedent(program))
    assert "1 passed" in installed.run(str(installed.python), "-m", "pytest", "test_fixture.py")


def _pins_of(*names: str) -> str:
    """The lines of these packages from what the checkout's own environment is pinned to."""
    text = (REPOSITORY / "requirements" / "dev.txt").read_text()
    pins = {pin.partition("==")[0]: pin for pin in re.split(r"\n(?=\S)", text) if "==" in pin}
    return "\n".join(pins[name] for name in names) + "\n"


def test_recompression_finds_its_helper_process(installed: Installed, up: str) -> None:
    create = ("topics", "--create", "--topic", "packed", "--config", "compression.type=zstd")
    _run(installed, up, *create)
    # What comes compressed may be of any size inside: the node never opens that itself.
    _produce(installed, up, "packed", "one\ntwo\nthree\n", "--compression-codec=gzip")
    assert _read(installed, up, "packed", 3) == "one\ntwo\nthree\n"


_KEYED = ("--property", "parse.key=true", "--property", "key.separator=:")


def test_compaction_finds_its_helper_process(installed: Installed, up: str) -> None:
    settings = {
        "cleanup.policy": "compact",
        "internal.segment.bytes": "3000",
        "min.cleanable.dirty.ratio": "0.01",
    }
    options = [f"--config={name}={value}" for name, value in settings.items()]
    _run(installed, up, "topics", "--create", "--topic", "compacted", *options)
    # Each round fills a segment. The last one is active, so the one before it keeps its records.
    rounds = [
        "".join(f"key{key}:{number} {'x' * 200}\n" for key in range(10)) for number in range(3)
    ]
    for lines in rounds:
        _produce(installed, up, "compacted", lines, *_KEYED)
    left = "".join(line.partition(":")[2] for line in "".join(rounds[1:]).splitlines(True))
    first = left.splitlines(True)[0]
    eventually(lambda: _read(installed, up, "compacted", 1) == first, timeout=60)
    assert _read(installed, up, "compacted", 20) == left


def _run(installed: Installed, up: str, tool: str, *options: str) -> str:
    return installed.run(installed.headrace, tool, "--bootstrap-server", up, *options)


def _read(installed: Installed, up: str, topic: str, count: int) -> str:
    """The values of the first records that there are."""
    begin = ("--partition", "0", "--offset", "earliest", "--max-messages", str(count))
    return _run(installed, up, "console-consumer", "--topic", topic, *begin)


def _produce(installed: Installed, up: str, topic: str, lines: str, *options: str) -> None:
    command = [installed.headrace, "console-producer", "--bootstrap-server", up, "--topic", topic]
    done = subprocess.run(
        [*command, *options],
        input=lines,
        text=True,
        env=installed.environment,
        cwd=installed.home,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
