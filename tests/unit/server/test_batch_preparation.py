"""Batches in other hands: what comes back, and what is told when nothing does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.preparation import Preparation, Prepared
from headrace.log.time_lookup import Candidate, TimestampOffset
from headrace.records.batch import read_header
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.record import Record
from headrace.server import helper_process
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


async def opened(preparation: BatchPreparation, timestamp: int) -> TimestampOffset | None:
    outcome = asyncio.get_running_loop().create_future()
    preparation.open(Candidate(timestamp, 2, BATCH), outcome.set_result)
    found: TimestampOffset | None = await outcome
    return found


def starting(monkeypatch: pytest.MonkeyPatch, commands: Iterator[tuple[str, ...]]) -> None:
    """Have these programs started in place of helpers, one after the other."""
    monkeypatch.setattr(helper_process, "command", lambda: next(commands))


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


def test_whoever_waits_when_the_node_stops_is_told_nothing() -> None:
    told: list[Prepared] = []

    async def story(preparation: BatchPreparation) -> None:
        preparation.prepare(Preparation(BATCH, False, Codec.LZ4, None), told.append)
        await asyncio.sleep(0)
        await preparation.close()

    run(story)
    assert not told
