"""What is told of work that fails again and again."""

from __future__ import annotations

import pytest

from headrace.server.repeated_failures import KINDS_MAX, RepeatedFailures


@pytest.fixture
def failures() -> RepeatedFailures:
    return RepeatedFailures()


def tell(failures: RepeatedFailures, error: Exception, what: str = "work") -> None:
    try:
        raise error
    except Exception as raised:
        failures.tell(what, raised)


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, bool]]:
    """The lines since the last call, and whether each has a traceback."""
    lines = [(one.getMessage(), bool(one.exc_info)) for one in caplog.records]
    caplog.clear()
    return lines


def test_the_same_failure_has_one_traceback_and_then_a_line_at_every_doubling(
    failures: RepeatedFailures, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(9):
        tell(failures, ValueError("a bug"))
    assert told(caplog) == [
        ("work failed", True),
        ("work failed 2 times in a row: ValueError: a bug", False),
        ("work failed 4 times in a row: ValueError: a bug", False),
        ("work failed 8 times in a row: ValueError: a bug", False),
    ]


def test_another_failure_is_told_in_full(
    failures: RepeatedFailures, caplog: pytest.LogCaptureFixture
) -> None:
    for error in (ValueError("a"), ValueError("b"), KeyError("b"), ValueError("a")):
        tell(failures, error)
    tell(failures, ValueError("a"), "other work")
    assert told(caplog) == [("work failed", True)] * 4 + [("other work failed", True)]


def test_a_failure_after_a_success_is_told_in_full(
    failures: RepeatedFailures, caplog: pytest.LogCaptureFixture
) -> None:
    tell(failures, ValueError("a"))
    failures.succeeded("work")
    tell(failures, ValueError("a"))
    assert told(caplog) == [("work failed", True)] * 2


def test_work_that_failed_longest_ago_is_forgotten_when_there_is_too_much(
    failures: RepeatedFailures, caplog: pytest.LogCaptureFixture
) -> None:
    error = ValueError("a")
    for number in range(KINDS_MAX):
        tell(failures, error, f"work {number}")
    tell(failures, error, "work 0")
    tell(failures, error, "one more")
    told(caplog)
    for what in ("work 0", "work 2", "work 1"):
        tell(failures, error, what)
    assert told(caplog) == [
        ("work 2 failed 2 times in a row: ValueError: a", False),
        ("work 1 failed", True),
    ]
