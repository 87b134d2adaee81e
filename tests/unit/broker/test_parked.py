"""Replies that come later."""

from headrace.broker.parked import Close, Parked, Reply

REPLY = Close("a reply like any other")


def test_a_reply_reaches_whoever_asked_for_it_before_or_after() -> None:
    early, late = Parked(), Parked()
    got: list[Reply] = []
    early.when_done(got.append)
    early.complete(REPLY)
    late.complete(REPLY)
    late.when_done(got.append)
    assert got == [REPLY, REPLY]


def test_only_the_first_reply_counts() -> None:
    parked = Parked()
    got: list[Reply] = []
    parked.when_done(got.append)
    parked.complete(None)
    parked.complete(REPLY)
    assert got == [None]
    assert parked.is_done


def test_abandoning_tells_once_and_ends_the_wait() -> None:
    parked = Parked()
    got: list[Reply] = []
    left: list[bool] = []
    parked.when_done(got.append)
    parked.when_abandoned(lambda: left.append(True))
    parked.abandon()
    parked.abandon()
    parked.complete(REPLY)
    assert (got, left) == ([], [True])


def test_abandoning_what_is_done_does_nothing() -> None:
    parked = Parked()
    left: list[bool] = []
    parked.when_abandoned(lambda: left.append(True))
    parked.complete(REPLY)
    parked.abandon()
    assert left == []
