"""Fetches that are known in sessions: whose epoch, which partitions, and what is news."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.fetch import ForgottenTopic
from tests.unit.broker.batches import fetch_request, offsets, partitions_of
from tests.unit.broker.known_reading import VERSION, fill, filled_twins, send
from tests.unit.broker.twins import Twins


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    yield from filled_twins(tmp_path, served)


def open_session(twins: Twins, served: Counter[str], offset: int = 0) -> int:
    """A session on `t`-0 that is known; the next epoch is 4."""
    session_id: int = send(twins, offset, session_epoch=0).response.session_id
    for epoch in (1, 2, 3):
        send(twins, offset, session_id=session_id, session_epoch=epoch)
    assert served == {"fetch": 1}
    served.clear()
    return session_id


def test_a_wrong_epoch_is_refused_and_the_right_one_goes_on(
    twins: Twins, served: Counter[str]
) -> None:
    session_id = open_session(twins, served)
    for epoch in (3, 5, -2, 2**31 - 1):
        response = send(twins, 0, session_id=session_id, session_epoch=epoch).response
        assert response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    for epoch in (4, 5, 6):
        assert send(twins, 0, session_id=session_id, session_epoch=epoch).response.error_code == 0


def test_a_session_that_is_gone_is_not_found(twins: Twins, served: Counter[str]) -> None:
    session_id = open_session(twins, served)
    send(twins, 0, session_id=session_id, session_epoch=-1)
    response = send(twins, 0, session_id=session_id, session_epoch=4).response
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_that_was_pushed_out_is_not_found(twins: Twins, served: Counter[str]) -> None:
    session_id = open_session(twins, served)
    twins.each(lambda broker: broker.clock.advance(120_001))
    for _ in range(4):
        send(twins, 0, session_epoch=0)
    response = send(twins, 0, session_id=session_id, session_epoch=4).response
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_known_session_stays_in_use(twins: Twins, served: Counter[str]) -> None:
    session_id = open_session(twins, served)
    for _ in range(3):
        send(twins, 0, session_epoch=0)
    for epoch in range(4, 8):
        twins.each(lambda broker: broker.clock.advance(100_000))
        send(twins, 0, session_epoch=0)
        assert send(twins, 0, session_id=session_id, session_epoch=epoch).response.error_code == 0
    assert served == {"fetch": 4}


def test_an_incremental_answer_has_only_news(twins: Twins, served: Counter[str]) -> None:
    session_id = open_session(twins, served, offset=6)
    fill(twins, 1)
    for epoch, offset in enumerate((6, 7, 6), start=4):
        pair = send(twins, offset, session_id=session_id, session_epoch=epoch)
        found = [offsets(data) for data in partitions_of(pair.response).values()]
        assert found == ([[6]] if offset == 6 else [])
    assert served["fetch"] == 3


def test_a_session_that_gets_a_second_partition_is_served_for_both(
    twins: Twins, served: Counter[str]
) -> None:
    session_id = open_session(twins, served)
    fill(twins, 1, index=1)
    more = fetch_request(("t", 1, 0), session_id=session_id, session_epoch=4)
    assert set(partitions_of(twins.send(more, VERSION).response)) == {("t", 0), ("t", 1)}
    for epoch in (5, 6, 7):
        pair = send(twins, 2, session_id=session_id, session_epoch=epoch)
        found = {key: offsets(data) for key, data in partitions_of(pair.response).items()}
        assert found == {("t", 0): [2, 4], ("t", 1): [0]}
    gone = [ForgottenTopic(topic="t", partitions=[1])]
    less = fetch_request(session_id=session_id, session_epoch=8, forgotten_topics_data=gone)
    assert set(partitions_of(twins.send(less, VERSION).response)) == {("t", 0)}
    for epoch in (9, 10, 11):
        send(twins, 4, session_id=session_id, session_epoch=epoch)
    assert served["fetch"] >= 2


def test_a_request_that_forgets_what_it_names_reads_what_is_left(twins: Twins) -> None:
    twins.create_topic("u")
    session_id = send(twins, 0, "u", session_epoch=0).response.session_id
    gone = [ForgottenTopic(topic="t", partitions=[0])]
    for epoch in range(1, 6):
        pair = send(
            twins, 0, session_id=session_id, session_epoch=epoch, forgotten_topics_data=gone
        )
        assert ("t", 0) not in partitions_of(pair.response)


def test_ending_a_session_again_and_again_ends_one_that_is_new(twins: Twins) -> None:
    next_id = send(twins, 0, session_epoch=0).response.session_id + 1
    for _ in range(3):
        send(twins, 0, session_id=next_id, session_epoch=-1)
    assert send(twins, 0, session_epoch=0).response.session_id == next_id
    send(twins, 0, session_id=next_id, session_epoch=-1)
    response = send(twins, 0, session_id=next_id, session_epoch=1).response
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
