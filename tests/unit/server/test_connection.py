"""Frames in, answers out: whatever the pieces, the order and the pace."""

import random
from typing import Any, cast

import pytest

from headrace.broker.known_requests import KnownRequests
from headrace.broker.parked import Close
from headrace.server.connection import Connection
from tests.unit.server.fake_transport import (
    Client,
    EchoDispatcher,
    FakeTransport,
    Owner,
    Setup,
    framed,
)

_MEGABYTE = 1 << 20


@pytest.fixture
def setup() -> Setup:
    return Setup()


# Frames


class ToldPolling:
    """Notes how many frames were served whenever it is told of a small request."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.told: list[int] = []

    def served(self) -> None:
        self.told.append(len(self.frames))


def test_small_requests_are_told_to_the_polling_and_large_ones_are_not() -> None:
    polling = ToldPolling()
    setup = Setup(polling=polling)
    polling.frames = setup.dispatcher.frames
    for content in (b"small", b"x" * 4_000, b"also small"):
        setup.client.send(framed(content))
    assert polling.told == [1, 3], "each after it was served"


def test_a_stream_cut_at_any_byte_gives_the_same_answers() -> None:
    stream = framed(b"first") + framed(b"") + framed(b"second one") + framed(b"x")
    for cut in range(len(stream) + 1):
        setup = Setup()
        setup.client.send(stream[:cut])
        setup.client.send(stream[cut:])
        assert setup.dispatcher.frames == [b"first", b"", b"second one", b"x"], cut
        assert setup.transport.data == stream, cut


def test_a_stream_in_single_bytes_gives_the_same_answers(setup: Setup) -> None:
    stream = b"".join(framed(b"frame %d" % number) for number in range(20))
    setup.client.send(stream, step=1)
    assert setup.transport.data == stream


def test_several_frames_in_one_read_are_answered_in_order(setup: Setup) -> None:
    frames = [b"frame %d" % number for number in range(1000)]
    setup.client.send(b"".join(map(framed, frames)))
    assert setup.dispatcher.frames == frames
    assert setup.transport.data == b"".join(map(framed, frames))


def test_answers_to_frames_that_came_together_leave_together_but_not_too_many(
    setup: Setup,
) -> None:
    frames = [framed(b"%d" % number) for number in range(9)]
    setup.client.send(b"".join(frames))
    assert setup.transport.written == [b"".join(frames[:8]), frames[8]]


def test_answers_do_not_wait_for_a_request_that_waits(setup: Setup) -> None:
    setup.client.send(framed(b"one") + framed(b"two") + framed(b"park"))
    assert setup.transport.written == [framed(b"one") + framed(b"two")]


def test_what_was_answered_before_a_bad_request_is_sent_before_the_end(setup: Setup) -> None:
    setup.client.send(framed(b"one") + framed(b"bad"))
    assert setup.transport.written == [framed(b"one")]
    assert setup.transport.is_closed


def test_nothing_is_sent_after_an_abort_while_frames_are_served(setup: Setup) -> None:
    def abort_at_the_second() -> None:
        if len(setup.dispatcher.frames) == 2:
            setup.connection.abort()

    setup.dispatcher.during = abort_at_the_second
    setup.client.send(framed(b"one") + framed(b"two") + framed(b"three"))
    assert setup.dispatcher.frames == [b"one", b"two"]
    assert setup.transport.written == []


def test_random_sizes_in_random_pieces_come_through_whole() -> None:
    chance = random.Random(7)
    for _ in range(30):
        setup = Setup()
        frames = [
            chance.randbytes(chance.choice((0, 1, 100, 5_000, 70_000, 200_000))) for _ in range(15)
        ]
        stream = b"".join(framed(b"-" + frame) for frame in frames)
        while stream:
            size = chance.choice((1, 3, 1_000, 65_536, 300_000))
            setup.client.send(stream[:size])
            stream = stream[size:]
        assert setup.dispatcher.frames == [b"-" + frame for frame in frames]


def test_a_request_without_an_answer_does_not_hold_up_the_next(setup: Setup) -> None:
    setup.client.send(framed(b"quiet") + framed(b"loud"))
    assert setup.dispatcher.frames == [b"quiet", b"loud"]
    assert setup.transport.data == framed(b"loud")


@pytest.mark.parametrize("size", [-1, -(2**31), _MEGABYTE + 1, 2**31 - 1])
def test_an_impossible_frame_size_ends_the_connection(setup: Setup, size: int) -> None:
    setup.client.send(framed(b"sound") + size.to_bytes(4, "big", signed=True) + b"GET / HTTP/1.1")
    assert setup.dispatcher.frames == [b"sound"]
    assert setup.transport.data == framed(b"sound")
    assert setup.transport.is_closed
    assert setup.owner.closed_count == 1


def test_a_frame_of_exactly_the_largest_size_is_served(setup: Setup) -> None:
    setup.client.send(framed(bytes(_MEGABYTE)))
    assert [len(frame) for frame in setup.dispatcher.frames] == [_MEGABYTE]


def test_a_bad_request_ends_the_connection_and_what_follows_is_not_served(setup: Setup) -> None:
    setup.client.send(framed(b"bad") + framed(b"later"))
    assert setup.dispatcher.frames == [b"bad"]
    assert setup.transport.is_closed
    assert setup.transport.data == b""


# The buffer


def test_the_buffer_grows_with_the_bytes_that_come_not_with_the_size_that_is_claimed() -> None:
    setup = Setup(frame_size_max=100 * _MEGABYTE)
    start = setup.buffer_size
    setup.client.send((90 * _MEGABYTE).to_bytes(4, "big") + b"a few bytes")
    assert setup.buffer_size == start
    setup.client.send(bytes(3 * _MEGABYTE))
    assert 3 * _MEGABYTE < setup.buffer_size <= 8 * _MEGABYTE


def test_a_large_buffer_is_given_back_after_its_frame() -> None:
    setup = Setup(frame_size_max=100 * _MEGABYTE)
    start = setup.buffer_size
    setup.client.send(framed(bytes(5 * _MEGABYTE)))
    assert setup.buffer_size == start
    setup.client.send(framed(b"and on it goes"))
    assert setup.dispatcher.frames[-1] == b"and on it goes"


def test_a_large_buffer_is_kept_while_its_frame_is_being_served() -> None:
    setup = Setup(frame_size_max=100 * _MEGABYTE)
    setup.client.send(framed(b"park" + bytes(3 * _MEGABYTE)))
    assert setup.buffer_size > 3 * _MEGABYTE
    setup.dispatcher.release()
    assert setup.buffer_size < _MEGABYTE


# Waiting


def test_what_follows_a_waiting_request_is_served_after_it_in_order(setup: Setup) -> None:
    setup.client.send(framed(b"park 1") + framed(b"two"))
    setup.client.send(framed(b"park 3") + framed(b"four"))
    assert setup.transport.data == b""
    setup.dispatcher.release()
    assert setup.transport.data == framed(b"park 1") + framed(b"two")
    setup.dispatcher.release()
    expected = [b"park 1", b"two", b"park 3", b"four"]
    assert setup.transport.data == b"".join(map(framed, expected))


def test_clients_that_answer_each_other_by_what_they_sent_ahead_are_all_served() -> None:
    owner, dispatcher = Owner(), EchoDispatcher()
    transports = [FakeTransport() for _ in range(500)]  # inside each other: deeper than the stack
    for transport in transports:
        connection = Connection(owner, cast(Any, dispatcher))
        connection.connection_made(cast(Any, transport))
        Client(connection, transport).send(framed(b"park") + framed(b"go"))

    def answer_the_next() -> None:
        if dispatcher.frames[-1] == b"go" and dispatcher.parked:
            dispatcher.release()

    dispatcher.during = answer_the_next
    dispatcher.release()
    assert {transport.data for transport in transports} == {framed(b"park") + framed(b"go")}


def test_a_waiting_request_keeps_its_bytes_while_more_arrive() -> None:
    """Record bytes are read where they lie in the buffer, perhaps long after they came."""
    setup = Setup()
    seen: list[memoryview] = []
    serve = setup.dispatcher.serve

    def keep(info: Any, frame: memoryview, send: Any) -> Any:
        seen.append(frame)
        return serve(info, frame, send)

    setup.dispatcher.serve = keep  # type: ignore[method-assign]
    setup.client.send(framed(b"park" + b"r" * 1000))
    for number in range(200):
        setup.client.send(framed(b"next %d " % number + b"x" * 900))
    assert bytes(seen[0]) == b"park" + b"r" * 1000
    setup.dispatcher.release()
    assert bytes(seen[0]) == b"park" + b"r" * 1000


def test_a_client_may_send_a_little_ahead_but_not_without_end(setup: Setup) -> None:
    setup.client.send(framed(b"park"))
    setup.client.send(framed(bytes(1000)) * 2_000, step=4_096)
    assert not setup.transport.is_reading
    assert len(setup.client.unsent) > 1_500_000
    assert setup.buffer_size <= 4 * 65_536
    setup.dispatcher.release()
    setup.client.send(b"")
    assert setup.client.unsent == b""
    assert len(setup.dispatcher.frames) == 2_001


def test_a_connection_that_ends_while_a_request_waits_abandons_it(setup: Setup) -> None:
    setup.client.send(framed(b"park"))
    waiting, send, _ = setup.dispatcher.parked[0]
    abandoned = []
    waiting.when_abandoned(lambda: abandoned.append(True))
    setup.connection.connection_lost(None)
    assert abandoned == [True]
    assert setup.owner.closed_count == 1
    send([b"too late"])
    assert setup.transport.data == b""


def test_a_connection_closed_while_a_request_waits_abandons_it_once(setup: Setup) -> None:
    setup.client.send(framed(b"park"))
    abandoned = []
    setup.dispatcher.parked[0][0].when_abandoned(lambda: abandoned.append(True))
    setup.connection.close()
    setup.connection.connection_lost(None)
    assert abandoned == [True]
    assert setup.owner.closed_count == 1


def test_a_waiting_request_may_end_the_connection(setup: Setup) -> None:
    setup.client.send(framed(b"park") + framed(b"later"))
    setup.dispatcher.parked[0][1](Close("after all"))
    assert setup.transport.is_closed
    assert setup.dispatcher.frames == [b"park"]


# Slow readers


def test_a_client_that_does_not_read_is_not_served_further(setup: Setup) -> None:
    setup.dispatcher.during = setup.connection.pause_writing
    setup.client.send(framed(b"one") + framed(b"two"))
    assert setup.dispatcher.frames == [b"one"]
    assert not setup.transport.is_reading
    setup.dispatcher.during = None
    setup.connection.resume_writing()
    setup.client.send(framed(b"three"))
    assert setup.dispatcher.frames == [b"one", b"two", b"three"]


def test_an_answer_that_comes_late_to_a_client_that_does_not_read_stops_it(setup: Setup) -> None:
    setup.client.send(framed(b"park") + framed(b"two"))
    setup.connection.pause_writing()
    setup.dispatcher.release()
    assert setup.dispatcher.frames == [b"park"]
    setup.connection.resume_writing()
    assert setup.transport.data == framed(b"park") + framed(b"two")


def test_closing_a_client_that_does_not_read_does_not_wait_for_it(setup: Setup) -> None:
    setup.client.send(framed(b"one"))
    setup.connection.close()
    assert not setup.transport.is_aborted
    slow = Setup()
    slow.connection.pause_writing()
    slow.connection.close()
    assert slow.transport.is_aborted


def test_a_large_answer_is_not_copied_into_one_piece(setup: Setup) -> None:
    setup.client.send(framed(b"park"))
    chunks: list[Any] = [b"head", memoryview(bytes(100_000)), b"tail"]
    setup.dispatcher.parked[0][1](chunks)
    assert [len(piece) for piece in setup.transport.written] == [4, 100_000, 4]


# Beginning and end


def test_a_refused_connection_is_cut_and_not_counted() -> None:
    setup = Setup(admits=False)
    assert setup.transport.is_aborted
    setup.connection.connection_lost(None)
    assert setup.owner.closed_count == 0


def test_bytes_keep_a_connection_alive(setup: Setup) -> None:
    assert setup.connection.quiet_ms(5_000.0) == 0
    setup.client.send(b"\0\0")
    assert setup.connection.quiet_ms(6_500.0) == 0
    assert setup.connection.quiet_ms(7_500.0) == 1_000.0
    assert setup.connection.quiet_ms(7_501.0) == 1_001.0


def test_a_quiet_connection_gives_back_the_room_of_a_large_request(setup: Setup) -> None:
    start = setup.buffer_size
    setup.client.send(framed(bytes(600_000)), step=65_536)
    assert setup.buffer_size > 600_000
    setup.connection.quiet_ms(1_000.0)
    assert setup.buffer_size > 600_000, "it was not quiet yet"
    setup.connection.quiet_ms(2_000.0)
    assert setup.buffer_size == start
    setup.client.send(framed(b"next"))
    assert setup.dispatcher.frames[-1] == b"next"


def test_a_connection_that_waits_keeps_its_room(setup: Setup) -> None:
    setup.client.send(framed(b"park" + bytes(600_000)), step=65_536)
    size = setup.buffer_size
    for now_ms in (1_000.0, 2_000.0, 3_000.0):
        setup.connection.quiet_ms(now_ms)
    assert setup.buffer_size == size
    setup.dispatcher.release()
    assert setup.transport.data == framed(b"park" + bytes(600_000))


def test_half_a_request_is_kept_however_quiet_it_becomes(setup: Setup) -> None:
    content = bytes(range(200)) * 1_000
    setup.client.send(framed(content)[:150_000], step=65_536)
    for now_ms in (1_000.0, 2_000.0, 3_000.0):
        setup.connection.quiet_ms(now_ms)
    setup.client.send(framed(content)[150_000:])
    assert setup.dispatcher.frames == [content]


def test_a_connection_is_counted_out_once(setup: Setup) -> None:
    setup.connection.close()
    setup.connection.close()
    setup.connection.abort()
    setup.connection.connection_lost(OSError("gone"))
    assert setup.owner.closed_count == 1


def test_a_connection_that_ends_forgets_what_its_client_repeated(setup: Setup) -> None:
    known = setup.connection._info.known
    known[0] = KnownRequests()
    setup.connection.connection_lost(None)
    assert not known


def test_a_lone_answer_leaves_before_the_rest_of_the_next_request_is_there(setup: Setup) -> None:
    first, second = framed(b"first"), framed(b"second")
    setup.client.send(first)
    assert setup.transport.data == first
    setup.client.send(second + first[:3])
    assert setup.transport.data == first + second
