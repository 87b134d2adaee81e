"""Batches in other hands: what comes back, and what is told when nothing does."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.preparation import Preparation, Prepared
from headrace.broker.time_lookups import Opened
from headrace.log.time_lookup import Candidate
from headrace.records.batch import read_header
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.record import Record
from headrace.server import batch_preparation, helper_process
from headrace.server.batch_preparation import BatchPreparation
from headrace.server.helper_frames import command

BATCH = bytes(build_batch([Record(n, 1_000 + n, b"k", b"v") for n in range(10)], leader_epoch=4))
#: A program that ends at once.
SHORT_LIVED = ("false",)


def run(story: Callable[[BatchPreparation], Awaitable[None]]) -> None:
    async def play() -> None:
        preparation = BatchPreparation()
        try:
            await story(preparation)
        finally:
            await preparation.close()

    asyncio.run(play())


async def prepared(preparation: BatchPreparation) -> Prepared:
    outcome = asyncio.get_running_loop().create_future()
    preparation.prepare(Preparation(BATCH, False, Codec.LZ4, None), outcome.set_result)
    done: Prepared = await outcome
    return done


async def opened(preparation: BatchPreparation, timestamp: int) -> Opened:
    outcome = asyncio.get_running_loop().create_future()
    preparation.open(Candidate(timestamp, 2, BATCH), outcome.set_result)
    found: Opened = await outcome
    return found


def starting(monkeypatch: pytest.MonkeyPatch, commands: Iterator[tuple[str, ...]]) -> None:
    """Have these programs started in place of helpers, one after the other."""
    monkeypatch.setattr(helper_process, "command", lambda: next(commands))


def refusing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[str]:
    """Have so many processes not started; what is returned grows with each."""
    monkeypatch.setattr(batch_preparation, "_PAUSES_S", (0.0, 0.0))
    start, refused = asyncio.create_subprocess_exec, list[str]()

    async def refuse_or_start(*program: str, **options: Any) -> asyncio.subprocess.Process:
        if len(refused) < times:
            refused.append(program[0])
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return await start(*program, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse_or_start)
    return refused


def test_a_batch_is_written_anew_or_searched_in_another_process() -> None:
    async def story(preparation: BatchPreparation) -> None:
        outcome = await prepared(preparation)
        assert outcome.batch is not None
        assert read_header(outcome.batch).codec == Codec.LZ4
        assert await opened(preparation, 1_005) == (1_005, 5, 4)
        assert await opened(preparation, 0) == (1_002, 2, 4)
        assert await opened(preparation, 2_000) is None

    run(story)


def test_a_batch_over_which_two_processes_ended_is_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    starting(monkeypatch, iter([SHORT_LIVED, SHORT_LIVED]))

    async def story(preparation: BatchPreparation) -> None:
        outcome = await prepared(preparation)
        assert outcome.batch is None
        assert outcome.error_code == ErrorCode.CORRUPT_MESSAGE
        assert "cannot be looked into" in caplog.text

    run(story)


def test_a_batch_gets_another_process_if_the_first_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starting(monkeypatch, iter([SHORT_LIVED, command()]))

    async def story(preparation: BatchPreparation) -> None:
        assert (await prepared(preparation)).error_code == 0

    run(story)


def test_a_batch_that_nobody_can_search_stands_for_its_first_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starting(monkeypatch, iter([SHORT_LIVED, SHORT_LIVED]))

    async def story(preparation: BatchPreparation) -> None:
        assert await opened(preparation, 1_005) == (1_009, 2, 4)

    run(story)


def test_a_sound_batch_may_be_sent_again_if_no_process_can_be_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refused = refusing(monkeypatch, 3)

    async def story(preparation: BatchPreparation) -> None:
        outcome = await prepared(preparation)
        assert outcome.batch is None
        assert outcome.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert "the batch process cannot be started: Too many open files" in caplog.text
        assert len(refused) == 3
        assert (await prepared(preparation)).error_code == 0

    run(story)


def test_a_batch_waits_a_moment_for_a_process_that_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusing(monkeypatch, 2)

    async def story(preparation: BatchPreparation) -> None:
        assert (await prepared(preparation)).error_code == 0

    run(story)


def test_processes_that_end_and_others_that_are_not_started_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starting(monkeypatch, iter([*[command()] * 2, SHORT_LIVED, command()]))
    refusing(monkeypatch, 2)

    async def story(preparation: BatchPreparation) -> None:
        assert (await prepared(preparation)).error_code == 0

    run(story)


def test_no_offset_is_told_if_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, 3)

    async def story(preparation: BatchPreparation) -> None:
        outcome = await opened(preparation, 1_005)
        assert isinstance(outcome, KafkaError)
        assert outcome.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert await opened(preparation, 1_005) == (1_005, 5, 4)

    run(story)


def test_whoever_waits_when_the_node_stops_is_told_nothing() -> None:
    told: list[Prepared] = []

    async def story(preparation: BatchPreparation) -> None:
        preparation.prepare(Preparation(BATCH, False, Codec.LZ4, None), told.append)
        await asyncio.sleep(0)
        await preparation.close()

    run(story)
    assert not told
