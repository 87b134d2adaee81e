"""Work in another process: its results, its failures, and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.preparation import Preparation
from headrace.client.readable import is_readable
from headrace.log.errors import LogDirFailure
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.reader import read_batch
from headrace.records.record import Record
from headrace.server import helper_process
from headrace.server.helper_frames import LENGTH, pack, unpack
from headrace.server.helper_process import HelperDiedError, HelperProcess


def run(story: Callable[[HelperProcess], Awaitable[None]]) -> None:
    async def play() -> None:
        helper = HelperProcess("test")
        try:
            await story(helper)
        finally:
            await helper.close()

    asyncio.run(play())


def pid_of(helper: HelperProcess) -> int:
    process = helper._process
    assert process is not None
    return process.pid


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - another process sets no event
        await asyncio.sleep(0.001)


def test_no_process_runs_before_the_first_job_and_after_the_end() -> None:
    async def story(helper: HelperProcess) -> None:
        assert helper._process is None
        assert await helper.run("recover", []) == []
        pid = pid_of(helper)
        await helper.close()
        assert not is_alive(pid)

    run(story)


def test_jobs_get_their_own_results_in_whatever_order_they_are_asked_for() -> None:
    batches = [
        build_batch([Record(0, 1, None, b"%d" % number * 50_000)], codec=Codec.NONE)
        for number in range(8)
    ]

    async def story(helper: HelperProcess) -> None:
        results = await asyncio.gather(
            *(helper.run("prepare", recompression(batch)) for batch in batches)
        )
        for batch, prepared in zip(batches, results, strict=True):
            (record,) = read_batch(prepared.batch)
            assert record.value == read_batch(batch)[0].value

    run(story)


def test_files_in_the_working_directory_are_not_taken_for_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit(1)")
    (tmp_path / "struct.py").write_text("raise SystemExit(1)")
    # Where the tests find the package must not depend on the working directory either.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(os.path.abspath(path) for path in sys.path))
    monkeypatch.chdir(tmp_path)

    async def story(helper: HelperProcess) -> None:
        with pytest.raises(KeyError):
            await helper.run("no such job", None)

    run(story)


def test_a_helper_whose_node_was_killed_leaves_though_its_input_is_open() -> None:
    requests, keeps_open = os.pipe()
    ends_with_it, answers = os.pipe()
    node = (
        "import subprocess; from headrace.server.helper_frames import command;"
        f"subprocess.Popen(command(), stdin={requests}, stdout={answers})"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", node], pass_fds=(requests, answers), env=env, check=True)
    os.close(requests)
    os.close(answers)
    readable = is_readable(ends_with_it, 30)
    assert readable
    assert os.read(ends_with_it, 1) == b""
    os.close(ends_with_it)
    os.close(keeps_open)


def test_an_error_in_a_job_is_raised_here_and_the_process_goes_on() -> None:
    async def story(helper: HelperProcess) -> None:
        with pytest.raises(KeyError):
            await helper.run("no such job", None)
        pid = pid_of(helper)
        assert await helper.run("recover", []) == []
        assert pid_of(helper) == pid

    run(story)


def test_the_error_code_of_a_job_survives_the_way_back() -> None:
    error = LogDirFailure("/data/orders-0", "reading", OSError(5, "Input/output error"))
    copied = unpack(pack(error)[LENGTH.size :])
    assert (copied.code, copied.message) == (ErrorCode.KAFKA_STORAGE_ERROR, error.message)
    assert (copied.errno, copied.data_directory) == (5, "/data")


def test_a_process_that_dies_over_its_job_is_told_and_replaced() -> None:
    async def story(helper: HelperProcess) -> None:
        await helper.run("recover", [])
        pid = pid_of(helper)
        os.kill(pid, signal.SIGSTOP)
        job = asyncio.create_task(helper.run("recover", []))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(HelperDiedError, match="the test process ended unexpectedly"):
            await job
        assert await helper.run("recover", []) == []
        assert pid_of(helper) != pid

    run(story)


def test_a_process_that_died_between_jobs_is_replaced() -> None:
    async def story(helper: HelperProcess) -> None:
        await helper.run("recover", [])
        process = helper._process
        assert process is not None
        process.kill()
        await process.wait()
        assert await helper.run("recover", []) == []

    run(story)


def test_a_job_that_is_cancelled_does_not_leave_its_answer_to_the_next() -> None:
    batch = build_batch([Record(0, 1, None, b"x" * 1_000_000)])

    async def story(helper: HelperProcess) -> None:
        await helper.run("recover", [])
        job = asyncio.create_task(helper.run("prepare", recompression(batch)))
        await asyncio.sleep(0)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        assert await helper.run("recover", []) == []

    run(story)


def test_an_idle_process_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_process, "_IDLE_S", 0.001)

    async def story(helper: HelperProcess) -> None:
        await helper.run("recover", [])
        process = helper._process
        assert process is not None
        await process.wait()
        await until(lambda: helper._process is None)
        assert await helper.run("recover", []) == []

    run(story)


def test_no_process_is_started_for_jobs_that_wait_while_the_node_stops() -> None:
    async def story(helper: HelperProcess) -> None:
        await helper.run("recover", [])
        pid = pid_of(helper)
        os.kill(pid, signal.SIGSTOP)
        jobs = [asyncio.create_task(helper.run("recover", [])) for _ in range(3)]
        await asyncio.sleep(0)
        await helper.close()
        for job in jobs:
            with pytest.raises(HelperDiedError):
                await job
        assert helper._process is None
        assert not is_alive(pid)

    run(story)


def test_a_process_that_is_being_started_while_the_node_stops_ends_at_once() -> None:
    async def story(helper: HelperProcess) -> None:
        job = asyncio.create_task(helper.run("recover", []))
        await asyncio.sleep(0)
        await helper.close()
        with pytest.raises(HelperDiedError):
            await job
        with pytest.raises(HelperDiedError):
            await helper.run("recover", [])
        assert helper._process is None

    run(story)


def recompression(batch: bytearray) -> Preparation:
    return Preparation(batch=bytes(batch), codec=Codec.LZ4, level=None, key_required=False)
