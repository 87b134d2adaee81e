"""Which failures are worth another try, and what is left of them in the end."""

import pytest

from headrace.spark.stores.errors import StoreError, StoreUnavailable, of_task, one_line, require
from headrace.spark.stores.retrying import Retries, with_retries


def test_waits_double_up_to_the_longest_and_add_up_to_the_limit() -> None:
    waits = list(Retries(seconds=10, first_wait=0.5, longest_wait=4).waits())
    assert waits == [0.5, 1, 2, 4, 2.5]
    assert list(Retries(seconds=0).waits()) == []


def test_a_target_that_comes_back_is_written_to() -> None:
    slept: list[float] = []

    def work() -> str:
        if len(slept) < 3:
            raise StoreUnavailable("down")
        return "written"

    assert with_retries(work, Retries(), sleep=slept.append) == "written"
    assert len(slept) == 3


def test_a_refusal_is_not_tried_again() -> None:
    def work() -> None:
        raise StoreError("no such table")

    with pytest.raises(StoreError, match="no such table"):
        with_retries(work, Retries(), sleep=lambda _: pytest.fail("it slept"))


def test_the_sentence_of_a_task_is_found_in_what_spark_makes_of_it() -> None:
    def work() -> None:
        raise RuntimeError(
            "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times\n"
            "Traceback (most recent call last):\n  File ...\n"
            "headrace.spark.stores.errors.StoreUnavailable: Redis at h:1: Connection refused\n\n"
            "\tat org.apache.spark.api.python.BasePythonRunner"
        )

    slept: list[float] = []
    with pytest.raises(StoreUnavailable, match=r"^Redis at h:1: Connection refused$"):
        with_retries(work, Retries(seconds=1), sleep=slept.append)
    assert sum(slept) == 1


def test_a_failure_that_is_not_ours_passes_through() -> None:
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        with_retries(work, Retries())
    assert of_task(ZeroDivisionError()) is None


def test_a_missing_package_is_named_with_the_extra() -> None:
    with pytest.raises(StoreError, match=r"^to_x needs the package no_such_thing .*headrace\[stor"):
        require("no_such_thing.part", "to_x")


def test_one_line_of_many() -> None:
    assert one_line("\n  connection failed: refused.\n\tIs it running?\n") == (
        "connection failed: refused"
    )
    assert one_line("") == "no reason given"
