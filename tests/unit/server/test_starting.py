"""A node that has to load its logs first: it can be watched and stopped."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.client.blocking import KafkaClient
from headrace.log.directories import CLEAN_SHUTDOWN_FILE
from headrace.log.directory_lock import is_locked
from headrace.log.recovery_tasks import RecoveryOutcome, RecoveryTask, run_recovery
from headrace.server import recovery
from headrace.server.config import NodeConfig
from headrace.server.node import Node
from headrace.server.recovery import StartStoppedError
from headrace.testing.topics import create_topic, list_topics
from tests.support.headrace_node import HeadraceNode
from tests.support.readiness import eventually
from tests.support.talk import client_of
from tests.unit.server.nodes import formatted, page, use

_NOTHING: Mapping[str, str] = {}
#: A helper that never answers.
_SILENT = (sys.executable, "-c", "import time; time.sleep(600)")


def stopped(directory: Path, settings: Mapping[str, str] = _NOTHING) -> NodeConfig:
    """A node with four logs that was stopped in order."""

    def create(client: KafkaClient) -> None:
        create_topic(client, "orders", 4, {})

    config = formatted(directory, settings)
    use(config, create)
    return config


def crashed(directory: Path, settings: Mapping[str, str] = _NOTHING) -> NodeConfig:
    """The same, killed."""
    config = stopped(directory, settings)
    (directory / CLEAN_SHUTDOWN_FILE).unlink()
    return config


def require_next_start(config: NodeConfig, directory: Path) -> None:
    """Nobody has the directory, nothing says that it is clean, and it can be used again."""
    assert not is_locked(str(directory))
    assert not (directory / CLEAN_SHUTDOWN_FILE).exists()
    assert use(config, list_topics) == ["orders"]


def test_a_node_that_recovers_its_logs_is_healthy_and_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovering, go_on = threading.Event(), threading.Event()

    def slow(task: RecoveryTask) -> RecoveryOutcome:
        recovering.set()
        go_on.wait()
        return run_recovery(task)

    async def story() -> None:
        node = Node(config)
        starting = asyncio.create_task(node.start())
        try:
            assert await asyncio.to_thread(recovering.wait, 60)
            assert await page(node, "/healthz") == (200, "ok\n")
            for path in ("/readyz", "/metrics"):
                status, text = await page(node, path)
                assert status == 503
                assert "is starting" in text
        finally:
            go_on.set()
            await starting
        assert await page(node, "/readyz") == (200, "ready\n")
        assert (await page(node, "/metrics"))[0] == 200
        await node.stop()

    config = crashed(tmp_path / "data", {"headrace.metrics.listener": "127.0.0.1:0"})
    monkeypatch.setattr(recovery, "run_recovery", slow)
    asyncio.run(story())


def test_a_node_that_is_asked_to_stop_recovers_no_further_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovered: list[RecoveryTask] = []

    def recover(task: RecoveryTask) -> RecoveryOutcome:
        recovered.append(task)
        node.ask_to_stop()
        return run_recovery(task)

    config = crashed(tmp_path / "data")
    node = Node(config)
    with monkeypatch.context() as patch:
        patch.setattr(recovery, "run_recovery", recover)
        with pytest.raises(StartStoppedError):
            asyncio.run(node.start())
    assert len(recovered) == 1
    require_next_start(config, tmp_path / "data")


def test_a_node_that_is_asked_to_stop_ends_the_helpers_that_recover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command() -> tuple[str, ...]:
        node.ask_to_stop()
        return _SILENT

    config = crashed(tmp_path / "data")
    node = Node(config)
    with monkeypatch.context() as patch:
        patch.setattr(recovery, "_WORTH_A_PROCESS", 0)
        patch.setattr(recovery, "command", command)
        with pytest.raises(StartStoppedError):  # the helpers would answer in ten minutes
            asyncio.run(node.start())
    require_next_start(config, tmp_path / "data")


def test_a_large_log_that_is_alone_is_recovered_by_a_helper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node itself could not give it up before its end."""

    def here(task: RecoveryTask) -> RecoveryOutcome:
        raise AssertionError(task.directory)

    config = formatted(tmp_path / "data")
    use(config, lambda client: create_topic(client, "orders", 1, {}))
    (tmp_path / "data" / CLEAN_SHUTDOWN_FILE).unlink()
    monkeypatch.setattr(recovery, "_WORTH_A_PROCESS", 0)
    monkeypatch.setattr(recovery, "run_recovery", here)
    assert use(config, list_topics) == ["orders"]


def test_a_node_that_is_asked_to_stop_does_not_load_clean_logs_either(tmp_path: Path) -> None:
    config = stopped(tmp_path / "data")
    node = Node(config)
    node.ask_to_stop()
    with pytest.raises(StartStoppedError):
        asyncio.run(node.start())
    require_next_start(config, tmp_path / "data")


def test_a_start_that_is_cancelled_waits_for_the_log_at_hand_before_it_frees_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    was_locked: list[bool] = []
    recovering = threading.Event()

    def recover(task: RecoveryTask) -> RecoveryOutcome:
        recovering.set()
        node._stop_asked.wait(60)  # the start is cancelled
        was_locked.append(is_locked(str(tmp_path / "data")))
        return run_recovery(task)

    async def story() -> None:
        starting = asyncio.create_task(node.start())
        assert await asyncio.to_thread(recovering.wait, 60)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    config = crashed(tmp_path / "data")
    node = Node(config)
    with monkeypatch.context() as patch:
        patch.setattr(recovery, "run_recovery", recover)
        asyncio.run(story())
    assert was_locked == [True]
    require_next_start(config, tmp_path / "data")


class EndlessRecovery(HeadraceNode):
    """A node whose helpers never come to an end."""

    def command(self) -> list[str]:
        program = (
            "import sys\n"
            "from headrace.cli.main import main\n"
            "from headrace.server import recovery\n"
            "recovery._WORTH_A_PROCESS = 0\n"
            f"recovery.command = lambda: {_SILENT!r}\n"
            "sys.exit(main(sys.argv[1:]))\n"
        )
        return [sys.executable, "-c", program, "server", "start", str(self.properties)]


def test_sigterm_ends_a_node_that_recovers_its_logs(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node:
        with client_of(node.bootstrap) as client:
            create_topic(client, "orders", 4, {})
        node.kill()
    endless = EndlessRecovery(tmp_path / "data")
    endless.begin_start()
    eventually(lambda: "recovering 4 logs" in endless.child.output.read_text())
    endless.stop()  # fails unless the exit code is 0
    said = endless.child.output.read_text()
    assert "stopping: SIGTERM" in said
    assert "stopped before all logs were loaded" in said
    assert "Traceback" not in said
    assert not (tmp_path / "data" / CLEAN_SHUTDOWN_FILE).exists()
    with node, client_of(node.bootstrap) as client:
        assert list_topics(client) == ["orders"]
