"""Headrace as users get it: a wheel in an environment of its own, away from the checkout."""

import os
import re
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.child import Child
from tests.support.readiness import eventually, tail
from tests.support.tools import REPOSITORY


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment with the wheel and nothing else of ours."""

    wheel: Path
    home: Path
    python: Path

    @property
    def headrace(self) -> str:
        return str(self.python.with_name("headrace"))

    def run(self, *command: str, timeout: float = 120.0) -> str:
        """Run a command away from the checkout; returns what it prints."""
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
        return {**kept, "HOME": str(self.home)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("wheel")
    # As `make build`, into a directory of its own.
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(base), str(REPOSITORY)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    (wheel,) = base.glob("*.whl")
    assert len(list(base.glob("*.tar.gz"))) == 1
    home = base / "home"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(base / "venv")], check=True, timeout=120)
    python = base / "venv" / "bin" / "python"
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    pins = REPOSITORY / "requirements" / "core.txt"
    # The index is that of the machine's pip; the pins say what may come from it.
    for arguments in (("--require-hashes", "-r", str(pins)), ("--no-deps", str(wheel))):
        subprocess.run([*pip, *arguments], check=True, timeout=300)
    return Installed(wheel, home, python)


@pytest.mark.timeout(400)
def test_the_wheel_has_the_package_its_licence_and_its_types(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert "headrace/py.typed" in names
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "bench/", "examples/"))]
    location = installed.run(str(installed.python), "-c", "import headrace; print(headrace)")
    assert str(REPOSITORY) not in location


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
    child.start([*away, *command], env=installed.environment)
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


def test_compaction_and_recompression_find_their_helper_process(
    installed: Installed, up: str
) -> None:
    server = ("--bootstrap-server", up)
    options = ("--create", "--topic", "packed", "--config", "compression.type=zstd")
    installed.run(installed.headrace, "topics", *server, *options)
    producer = subprocess.run(
        [installed.headrace, "console-producer", *server, "--topic", "packed"],
        input="one\ntwo\nthree\n",
        text=True,
        env=installed.environment,
        cwd=installed.home,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert producer.returncode == 0, producer.stderr
    read = installed.run(
        *(installed.headrace, "console-consumer", *server, "--topic", "packed"),
        *("--partition", "0", "--offset", "earliest", "--max-messages", "3"),
    )
    assert read == "one\ntwo\nthree\n"
