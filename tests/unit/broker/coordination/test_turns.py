"""Several long jobs together take one step a turn of the loop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.broker.coordination.turns import Turns


def test_jobs_take_turns_and_one_step_at_a_time() -> None:
    soon: list[Callable[[], None]] = []
    turns = Turns(soon.append)
    done: list[str] = []

    def job(name: str, left: int) -> Callable[[], None]:
        def step() -> None:
            done.append(f"{name}{left}")
            if left:
                turns.add(job(name, left - 1))

        return step

    turns.add(job("a", 2))
    turns.add(job("b", 1))
    while soon:
        assert len(soon) == 1
        soon.pop()()
    assert done == ["a2", "b1", "a1", "b0", "a0"]


def test_a_step_that_fails_does_not_end_the_others() -> None:
    soon: list[Callable[[], None]] = []
    turns = Turns(soon.append)
    done: list[int] = []

    def fail() -> None:
        raise ValueError

    turns.add(fail)
    turns.add(lambda: done.append(1))
    with pytest.raises(ValueError):
        soon.pop()()
    soon.pop()()
    assert done == [1]
