"""Pauses between attempts, and when to stop trying."""

from headrace.spark.pipelines.retrying import Retries


def test_pauses_grow_until_nothing_has_worked_for_too_long() -> None:
    retries = Retries(100)
    now, pauses = 1_000.0, []
    while (pause := retries.failed(now)) is not None:
        pauses.append(pause)
        now += pause
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_finished_batch_begins_the_count_anew() -> None:
    retries = Retries(100)
    retries.failed(0)
    retries.failed(99)
    retries.worked()
    assert not retries.is_failing
    assert retries.failed(150) == 1


def test_no_time_means_no_second_attempt() -> None:
    assert Retries(0).failed(5) is None
