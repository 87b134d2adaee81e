"""Who waits for whom before a batch is written."""

import pytest

from headrace.broker.coordination.sharing import Sharing


class Loop:
    """Turns of a loop, one at a time, and what ran with how many events."""

    def __init__(self) -> None:
        self.soon: list[object] = []
        self.waiting = 0
        self.ran: list[int] = []
        self.sharing = Sharing(self.soon.append, self._run)

    def _run(self) -> None:
        if self.waiting:
            self.ran.append(self.waiting)
            self.waiting = 0

    def turn(self, events: int = 0) -> None:
        """So many events come, then the turn ends."""
        for _ in range(events):
            self.waiting += 1
            self.sharing.add()
        due, self.soon[:] = list(self.soon), []
        for callback in due:
            assert callable(callback)
            callback()


@pytest.fixture
def loop() -> Loop:
    return Loop()


def test_an_event_that_is_alone_goes_at_once(loop: Loop) -> None:
    for _ in range(3):
        loop.waiting += 1
        loop.sharing.add()
        assert loop.waiting == 0
        loop.turn()
    assert loop.ran == [1, 1, 1]


def test_events_of_one_turn_go_together_behind_the_first(loop: Loop) -> None:
    loop.turn(5)
    assert loop.ran == [1, 4]


def test_after_a_crowd_the_next_wait_while_more_come(loop: Loop) -> None:
    loop.turn(5)
    loop.turn(3)
    loop.turn(4)
    assert loop.ran == [1, 4]
    loop.turn()  # brings none: this is all of them
    assert loop.ran == [1, 4, 7]


def test_nobody_waits_for_more_than_a_few_turns(loop: Loop) -> None:
    loop.turn(5)
    for _ in range(4):
        loop.turn(2)
    assert loop.ran == [1, 4, 8]
    assert loop.waiting == 0


def test_when_the_crowd_is_gone_an_event_goes_at_once_again(loop: Loop) -> None:
    loop.turn(5)
    loop.turn(1)
    loop.turn()
    assert loop.ran == [1, 4, 1]
    loop.turn(1)
    assert loop.ran == [1, 4, 1, 1]
    assert loop.soon == []
