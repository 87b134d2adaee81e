"""EmbeddedKafka: a real node that comes quickly and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headrace
from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.metadata import ask_topics
from headrace.testing import EmbeddedKafka
from headrace.testing.node_handle import NodeStartError


@pytest.fixture(scope="module", params=["child", "in process"])
def kafka(request: pytest.FixtureRequest) -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(in_process=request.param == "in process") as node:
        yield node


def test_a_node_answers_as_soon_as_it_is_there(kafka: EmbeddedKafka) -> None:
    assert list(kafka.client.cluster().nodes) == [1]
    assert kafka.is_running


def test_a_topic_has_the_partitions_that_were_asked_for(kafka: EmbeddedKafka) -> None:
    name = kafka.create_topic("orders", partitions=3, configs={"cleanup.policy": "compact"})
    (topic,) = ask_topics(kafka.client.any_node(), [name]).topics
    assert len(topic.partitions) == 3
    assert (kafka.data_dir / "orders-2").is_dir()


def test_an_invalid_topic_setting_is_refused_with_kafkas_error(kafka: EmbeddedKafka) -> None:
    with pytest.raises(KafkaError) as refused:
        kafka.create_topic("broken", configs={"cleanup.policy": "maybe"})
    assert refused.value.code == ErrorCode.INVALID_CONFIG


def test_topics_for_tests_have_names_of_their_own(kafka: EmbeddedKafka) -> None:
    first, second = kafka.topic(), kafka.topic()
    assert first != second
    assert {first, second} <= set(kafka.topics())
    kafka.delete_topic(first, second)
    assert not {first, second} & set(kafka.topics())


def test_a_restart_keeps_topics_and_address(kafka: EmbeddedKafka) -> None:
    topic, address = kafka.topic(), kafka.bootstrap_servers
    kafka.restart()
    assert kafka.bootstrap_servers == address
    assert topic in kafka.topics()


def test_a_killed_node_comes_back_with_its_topics() -> None:
    with EmbeddedKafka() as kafka:
        topic, pid, address = kafka.topic(), kafka.pid, kafka.bootstrap_servers
        kafka.kill()
        assert not kafka.is_running
        assert not is_alive(pid)
        kafka.start()
        assert kafka.pid != pid
        assert kafka.bootstrap_servers == address
        assert kafka.topics() == [topic]


def test_a_node_in_this_process_cannot_be_killed() -> None:
    with EmbeddedKafka(in_process=True) as kafka:
        assert kafka.pid == os.getpid()
        with pytest.raises(RuntimeError, match="cannot be killed"):
            kafka.kill()


@pytest.mark.parametrize("in_process", [False, True])
def test_nothing_is_left_when_the_block_ends(in_process: bool) -> None:
    with EmbeddedKafka(in_process=in_process) as kafka:
        work_dir, pid, address = kafka.data_dir.parent, kafka.pid, kafka.bootstrap_servers
        kafka.topic()
    assert not work_dir.exists()
    assert not is_listening(address)
    assert in_process or not is_alive(pid)


def test_nothing_is_left_when_the_test_fails() -> None:
    kafka = EmbeddedKafka().start()
    work_dir, pid = kafka.data_dir.parent, kafka.pid
    with pytest.raises(ZeroDivisionError), kafka:
        raise ZeroDivisionError
    assert not work_dir.exists()
    assert not is_alive(pid)


def test_nothing_is_left_when_the_parent_is_killed() -> None:
    program = """
import sys
from headrace.testing import EmbeddedKafka
kafka = EmbeddedKafka().start()
kafka.topic()
print(kafka.bootstrap_servers, kafka.data_dir.parent, flush=True)
sys.stdin.read()
"""
    with start_python(program) as parent:
        assert parent.stdout is not None
        address, work_dir = parent.stdout.readline().split()
        assert is_listening(address)
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_listening(address) and not os.path.exists(work_dir))


def test_a_given_directory_stays(tmp_path: Path) -> None:
    with EmbeddedKafka(data_dir=tmp_path / "data") as kafka:
        topic = kafka.topic()
    assert (tmp_path / "data" / "meta.properties").exists()
    with EmbeddedKafka(data_dir=tmp_path / "data") as kafka:
        assert kafka.topics() == [topic]


@pytest.mark.parametrize("in_process", [False, True])
def test_settings_reach_the_node_and_may_change_with_a_restart(in_process: bool) -> None:
    settings = {"auto.create.topics.enable": "false", "num.partitions": "5"}
    with EmbeddedKafka(settings, in_process=in_process) as kafka:
        assert touch(kafka) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
        kafka.settings["auto.create.topics.enable"] = "true"
        kafka.restart()
        wait_until(lambda: touch(kafka) == (ErrorCode.NONE, 5))


@pytest.mark.parametrize("in_process", [False, True])
def test_a_setting_that_is_wrong_is_told_and_leaves_nothing(in_process: bool) -> None:
    kafka = EmbeddedKafka({"log.segment.bytes": "three"}, in_process=in_process)
    with pytest.raises(NodeStartError, match=r"log\.segment\.bytes"):
        kafka.start()
    assert not kafka.is_running
    with pytest.raises(RuntimeError, match="has not been started"):
        kafka.bootstrap_servers  # noqa: B018 - the property raises


@pytest.mark.parametrize("in_process", [False, True])
def test_a_port_that_is_taken_is_told(in_process: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0"
        kafka = EmbeddedKafka({"listeners": listeners}, in_process=in_process)
        with pytest.raises(NodeStartError, match=f"Cannot listen on 127.0.0.1:{port}"):
            kafka.start()


def test_starting_twice_is_refused_and_closing_twice_is_not(kafka: EmbeddedKafka) -> None:
    with pytest.raises(RuntimeError, match="already running"):
        kafka.start()
    closed = EmbeddedKafka()
    closed.close()
    closed.close()


def test_what_a_node_logs_can_be_read() -> None:
    with EmbeddedKafka({"no.such.setting": "1"}) as kafka:
        assert "no.such.setting" in kafka.log


def test_a_machine_without_pytest_can_use_it() -> None:
    with start_python(
        "import sys; sys.modules['pytest'] = None\n"
        "from headrace.testing import EmbeddedKafka\n"
        "with EmbeddedKafka() as kafka: print(kafka.topics())\n"
    ) as process:
        assert process.communicate()[0] == "[]\n"


def touch(kafka: EmbeddedKafka) -> tuple[int, int]:
    """Ask for a topic that is not there, as a client would that may create it."""
    (topic,) = ask_topics(kafka.client.any_node(), ["made-by-asking"], create=True).topics
    return topic.error_code, len(topic.partitions)


def start_python(program: str) -> subprocess.Popen[str]:
    root = str(Path(headrace.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )


def wait_until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_listening(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
