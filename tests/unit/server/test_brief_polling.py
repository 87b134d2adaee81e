"""A loop looks for the next request for a moment while requests follow closely."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from headrace.server.brief_polling import BriefPolling, may_poll

FOR_US = 60


class Loop:
    """Counts the looks at the sockets; each takes a microsecond."""

    def __init__(self, for_us: int = FOR_US) -> None:
        self.now_ns = 0
        self.yields = 0
        self.offered_ns = 0
        #: How long others have the processor each time it is offered.
        self.others_us = 0
        self.looks = 0
        self._soon: list[Callable[[], None]] = []
        self.polling = BriefPolling(
            for_us, self._soon.append, now_ns=lambda: self.now_ns, give_way=self._give_way
        )

    def _give_way(self) -> None:
        self.yields += 1
        self.offered_ns = self.now_ns
        self.now_ns += self.others_us * 1_000

    def would_sleep(self) -> bool:
        return not self._soon

    def run(self, for_us: int) -> None:
        """Let time pass; the loop sleeps when it has nothing to call."""
        end_ns = self.now_ns + for_us * 1_000
        while not self.would_sleep() and self.now_ns < end_ns:
            self.now_ns += 1_000
            self.looks += 1
            self._soon.pop(0)()
        self.now_ns = max(self.now_ns, end_ns)

    def rest_us(self) -> int:
        """Have somebody take the processor for 3 ms; how long the loop sleeps after that."""
        self.others_us = 3_000
        self.serve(50, 50, 50)
        assert not self.would_sleep()
        self.run(3_500)
        assert self.would_sleep()
        self.others_us = 0
        taken_ns = self.offered_ns + 3_000_000
        while self.would_sleep():
            self.serve(50)
        rested_us = (self.now_ns - taken_ns) // 1_000
        self.run(1_000)
        return rested_us // 1_000 * 1_000

    def serve(self, *pauses_us: int) -> None:
        """A small request after each of these pauses."""
        for pause_us in pauses_us:
            self.run(pause_us)
            self.polling.served()


def test_after_requests_in_a_row_the_loop_looks_for_a_moment() -> None:
    loop = Loop()
    loop.serve(0, 50, 50)
    loop.run(FOR_US - 1)
    assert not loop.would_sleep()
    loop.run(FOR_US)
    assert loop.would_sleep()
    assert loop.looks == pytest.approx(FOR_US, abs=1)


def test_each_request_of_the_row_begins_the_moment_anew() -> None:
    loop = Loop()
    loop.serve(0, 50, 50, *[50] * 20)
    assert not loop.would_sleep()
    assert loop.looks == pytest.approx(20 * 50, abs=2)


def test_the_processor_is_offered_to_others_at_each_look() -> None:
    loop = Loop()
    loop.serve(0, 50, 50)
    loop.run(1_000)
    assert loop.yields == loop.looks - 1 > 0, "the last one finds that the moment is over"


@pytest.mark.parametrize("pauses_us", [(0,), (0, 50), (0, 1_000, 50), (0, 50, 1_000, 50, 1_000)])
def test_single_requests_and_pairs_are_not_worth_a_look(pauses_us: tuple[int, ...]) -> None:
    loop = Loop()
    loop.serve(*pauses_us)
    assert loop.would_sleep()


def test_a_pause_ends_the_row() -> None:
    loop = Loop()
    loop.serve(0, 50, 50, 50, 1_000)
    assert loop.would_sleep()
    loop.serve(50, 50)
    assert not loop.would_sleep()


def test_who_takes_the_processor_for_long_is_left_alone_for_a_while() -> None:
    loop = Loop()
    assert loop.rest_us() == 5_000


def test_each_rest_soon_after_another_is_twice_as_long() -> None:
    loop = Loop()
    rests_ms = [loop.rest_us() // 1_000 for _ in range(8)]
    assert rests_ms == [5, 10, 20, 40, 80, 160, 200, 200]
    loop.run(1_500_000)
    assert loop.rest_us() == 5_000, "after a calm second it begins anew"


def test_a_client_that_works_between_two_requests_is_no_reason_to_stop() -> None:
    loop = Loop()
    loop.others_us = 20
    loop.serve(0, 50, 50)
    loop.run(25)
    loop.serve(0)
    assert not loop.would_sleep()


def test_nothing_is_looked_for_in_no_time() -> None:
    loop = Loop(for_us=0)
    loop.serve(*[10] * 20)
    assert loop.would_sleep()


def test_a_node_with_one_processor_leaves_it_to_its_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert not may_poll()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3}, raising=False)
    monkeypatch.setattr(os, "sched_yield", lambda: None, raising=False)
    assert may_poll()


def test_a_system_that_cannot_offer_a_processor_is_never_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_yield", raising=False)
    assert not may_poll()
