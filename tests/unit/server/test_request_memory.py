"""Large requests share memory: `queued.max.request.bytes`."""

import pytest

from headrace.server.request_memory import RequestMemory
from tests.unit.server.fake_transport import Setup, framed

LARGE = 200_000


def begin(setup: Setup, content: bytes) -> bytes:
    """Send the first bytes of a large request; what is left to be sent."""
    frame = framed(content)
    setup.client.send(frame[:1_000])
    return frame[1_000:]


def is_read(setup: Setup) -> bool:
    return setup.transport.is_reading


def clients(memory: RequestMemory, count: int) -> list[Setup]:
    return [Setup(memory=memory) for _ in range(count)]


def test_without_a_limit_every_request_is_read() -> None:
    memory = RequestMemory()
    for setup in clients(memory, 20):
        setup.client.send(begin(setup, b"x" * LARGE))
        assert setup.dispatcher.frames == [b"x" * LARGE]
    assert memory.taken == 0


def test_a_request_is_not_read_while_others_have_all_memory() -> None:
    memory = RequestMemory(LARGE)
    first, second = clients(memory, 2)
    rest = begin(first, b"1" * LARGE)
    rest_of_second = begin(second, b"2" * LARGE)
    assert (is_read(first), is_read(second)) == (True, False)
    first.client.send(rest)
    assert first.dispatcher.frames == [b"1" * LARGE]
    assert is_read(second), "the first is done"
    second.client.send(rest_of_second)
    assert second.dispatcher.frames == [b"2" * LARGE]
    assert memory.taken == 0


def test_whoever_finds_some_memory_gets_all_that_he_needs() -> None:
    memory = RequestMemory(LARGE + 1)
    first, second, third = clients(memory, 3)
    rests = [begin(setup, b"x" * LARGE) for setup in (first, second, third)]
    assert [is_read(setup) for setup in (first, second, third)] == [True, True, False]
    for setup, rest in zip((first, second, third), rests, strict=True):
        setup.client.send(rest)
        assert setup.dispatcher.frames == [b"x" * LARGE]
    assert memory.taken == 0


def test_small_requests_are_read_all_the_same() -> None:
    memory = RequestMemory(1)
    first, second = clients(memory, 2)
    begin(first, b"x" * LARGE)
    second.client.send(framed(b"small"))
    assert second.dispatcher.frames == [b"small"]


@pytest.mark.parametrize("end", ["close", "abort"])
def test_a_connection_that_ends_gives_back_its_memory(end: str) -> None:
    memory = RequestMemory(LARGE)
    first, second = clients(memory, 2)
    begin(first, b"x" * LARGE)
    rest = begin(second, b"y" * LARGE)
    getattr(first.connection, end)()
    second.client.send(rest)
    assert second.dispatcher.frames == [b"y" * LARGE]


def test_one_that_ends_while_it_waits_keeps_nobody_else_waiting() -> None:
    memory = RequestMemory(LARGE)
    first, second, third = clients(memory, 3)
    rest = begin(first, b"x" * LARGE)
    begin(second, b"y" * LARGE)
    rest_of_third = begin(third, b"z" * LARGE)
    second.connection.abort()
    first.client.send(rest)
    third.client.send(rest_of_third)
    assert third.dispatcher.frames == [b"z" * LARGE]
    assert memory.taken == 0


def test_a_request_whose_answer_has_to_wait_gives_its_memory_back() -> None:
    """Others may have to be read before it can be answered: members of the same group."""
    memory = RequestMemory(LARGE)
    first, second = clients(memory, 2)
    begin(second, b"y" * LARGE)
    first.client.send(begin(first, b"park" + b"x" * LARGE))
    assert not is_read(first), "the second has all of it"
    second.client.send(b"y" * LARGE)
    assert is_read(first)
    first.client.send(b"")
    assert first.dispatcher.frames == [b"park" + b"x" * LARGE]
    assert memory.taken == 0


def test_a_large_request_that_comes_at_once_counts_as_well() -> None:
    memory = RequestMemory(1)
    first, second = clients(memory, 2)
    first.client.send(framed(b"x" * LARGE))  # makes room for the next one
    first.dispatcher.during = lambda: seen.append(memory.taken)
    seen: list[int] = []
    first.client.send(framed(b"x" * LARGE))
    assert seen == [LARGE]
    assert memory.taken == 0
    assert is_read(second)


def test_nothing_is_kept_of_connections_that_end_while_they_wait() -> None:
    memory = RequestMemory(LARGE)
    first, *others = clients(memory, 50)
    begin(first, b"x" * LARGE)
    for one in others:
        begin(one, b"y" * LARGE)
    assert memory.waiting_count == 49
    for one in others:
        one.connection.abort()
    assert memory.waiting_count == 0


def test_whoever_waits_for_memory_is_not_read_again_when_he_reads_his_answers() -> None:
    memory = RequestMemory(LARGE)
    first, second = clients(memory, 2)
    begin(first, b"x" * LARGE)
    begin(second, b"y" * LARGE)
    second.connection.pause_writing()
    second.connection.resume_writing()
    assert not is_read(second)
