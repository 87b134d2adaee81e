"""Fetch sessions: what is remembered, for how long, and what is told again (KIP-227)."""

from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker import fetch_sessions
from headrace.broker.fetch_sessions import FetchSessions
from headrace.protocol.messages.fetch import FetchRequest, ForgottenTopic
from tests.unit.broker.batches import (
    batch,
    fetch_request,
    offsets,
    partitions_of,
    produce,
    send_fetch,
)
from tests.unit.broker.harness import Broker

MINUTES = 60_000.0


def request(*positions: tuple[str | bytes, int, int], **options: Any) -> FetchRequest:
    return fetch_request(*positions, **options)


def full(size: int = 1, name: str = "t") -> FetchRequest:
    return request(*[(name, index, 0) for index in range(size)], session_epoch=0)


def sessions(slots: int = 2) -> FetchSessions:
    return FetchSessions(slots, iter(range(1, 1000)).__next__)


def resume(session_id: int, epoch: int, *positions: Any, **options: Any) -> FetchRequest:
    return request(*positions, session_id=session_id, session_epoch=epoch, **options)


# The cache


def test_a_full_fetch_opens_a_session_and_epochs_count_up() -> None:
    cache = sessions()
    session, positions = cache.open(full(3), False, 0.0)
    assert session is not None
    assert (session.session_id, session.epoch, len(positions)) == (1, 1, 3)
    for epoch in (1, 2, 3):
        again, positions = cache.open(resume(1, epoch), False, 0.0)
        assert again is session
        assert len(positions) == 3


def test_an_unknown_session_is_not_found() -> None:
    with pytest.raises(KafkaError) as caught:
        sessions().open(resume(9, 1), False, 0.0)
    assert caught.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [2, 3, 100, 2**31 - 1])
def test_another_epoch_than_the_next_is_invalid(epoch: int) -> None:
    cache = sessions()
    cache.open(full(), False, 0.0)
    with pytest.raises(KafkaError) as caught:
        cache.open(resume(1, epoch), False, 0.0)
    assert caught.value.code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert cache.open(resume(1, 1), False, 0.0)[0] is not None


def test_epochs_begin_again_at_1_after_the_largest() -> None:
    cache = sessions()
    session, _ = cache.open(full(), False, 0.0)
    assert session is not None
    session.epoch = 2**31 - 1
    cache.open(resume(1, 2**31 - 1), False, 0.0)
    assert session.epoch == 1


def test_names_and_ids_do_not_mix_in_one_session() -> None:
    cache = sessions()
    cache.open(full(), False, 0.0)
    with pytest.raises(KafkaError) as caught:
        cache.open(resume(1, 1), True, 0.0)
    assert caught.value.code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_the_final_epoch_ends_a_session_and_reads_what_it_names() -> None:
    cache = sessions()
    cache.open(full(), False, 0.0)
    session, positions = cache.open(resume(1, -1, ("t", 5, 0)), False, 0.0)
    assert session is None
    assert [position.index for position in positions] == [5]
    assert len(cache) == 0


def test_a_full_fetch_ends_the_session_it_names() -> None:
    cache = sessions()
    cache.open(full(), False, 0.0)
    session, _ = cache.open(resume(1, 0, ("t", 0, 0)), False, 0.0)
    assert session is not None
    assert session.session_id == 2
    assert len(cache) == 1


def test_a_session_takes_partitions_in_and_lets_them_go() -> None:
    cache = sessions()
    cache.open(full(2), False, 0.0)
    gone = [ForgottenTopic(topic="t", partitions=[0, 99])]
    session, positions = cache.open(
        resume(1, 1, ("u", 0, 7), ("t", 1, 5), forgotten_topics_data=gone), False, 0.0
    )
    assert session is not None
    assert [(p.topic, p.index, p.fetch_offset) for p in positions] == [("t", 1, 5), ("u", 0, 7)]
    assert cache.partition_count == 2


def test_a_session_without_partitions_is_none() -> None:
    cache = sessions()
    assert cache.open(full(0), False, 0.0) == (None, [])
    cache.open(full(1), False, 0.0)
    gone = [ForgottenTopic(topic="t", partitions=[0])]
    assert cache.open(resume(1, 1, forgotten_topics_data=gone), False, 0.0) == (None, [])
    assert len(cache) == 0


def test_a_full_cache_keeps_the_sessions_in_use() -> None:
    cache = sessions(slots=2)
    cache.open(full(), False, 0.0)
    cache.open(full(), False, 0.0)
    session, positions = cache.open(full(3), False, MINUTES)
    assert session is None
    assert len(positions) == 3
    assert len(cache) == 2


def test_the_session_that_was_idle_longest_makes_room() -> None:
    cache = sessions(slots=2)
    cache.open(full(), False, 0.0)
    cache.open(full(), False, 0.0)
    cache.open(resume(1, 1), False, 1 * MINUTES)
    session, _ = cache.open(full(), False, 2 * MINUTES + 1)
    assert session is not None
    with pytest.raises(KafkaError):
        cache.open(resume(2, 1), False, 2 * MINUTES + 1)
    cache.open(resume(1, 2), False, 2 * MINUTES + 1)


def test_a_larger_session_takes_the_place_of_a_settled_smaller_one() -> None:
    cache = sessions(slots=2)
    cache.open(full(1), False, 0.0)
    cache.open(full(5), False, 0.0)
    later = 2 * MINUTES + 1
    for session_id in (1, 2):
        cache.open(resume(session_id, 1), False, later)
    assert cache.open(full(1), False, later)[0] is None
    session, _ = cache.open(full(2), False, later)
    assert session is not None
    with pytest.raises(KafkaError):
        cache.open(resume(1, 2), False, later)


def test_session_ids_are_never_0_and_never_twice() -> None:
    cache = FetchSessions(4, iter([0, 5, 5, 0, 6]).__next__)
    ids = [session.session_id for _ in range(2) if (session := cache.open(full(), False, 0.0)[0])]
    assert ids == [5, 6]


def test_sessions_together_remember_a_bounded_number_of_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetch_sessions, "_POSITIONS_MAX", 10)
    cache = sessions(slots=100)
    cache.open(full(6), False, 0.0)
    session, positions = cache.open(full(5), False, 0.0)
    assert (session, len(positions)) == (None, 5)
    cache.open(full(4), False, 0.0)
    more = [("more", index, 0) for index in range(3)]
    session, positions = cache.open(resume(1, 1, *more), False, 0.0)
    assert (session, len(positions)) == (None, 9)
    assert cache.partition_count == 4


# Through the broker


def open_session(broker: Broker, partitions: int = 2) -> int:
    """Open a session on all partitions of `t` and read what is there."""
    positions = [("t", index, 0) for index in range(partitions)]
    response = send_fetch(broker, *positions, session_epoch=0).response
    assert len(partitions_of(response)) == partitions
    session_id: int = response.session_id
    assert session_id > 0
    return session_id


def next_fetch(broker: Broker, session_id: int, epoch: int, *positions: Any, **options: Any) -> Any:
    return send_fetch(
        broker, *positions, session_id=session_id, session_epoch=epoch, **options
    ).response


def test_an_incremental_response_has_only_partitions_with_news(broker: Broker) -> None:
    broker.create_topic("t", 3)
    session_id = open_session(broker, 3)
    response = next_fetch(broker, session_id, 1)
    assert (response.session_id, response.responses) == (session_id, [])
    produce(broker, batch(2), index=1)
    found = partitions_of(next_fetch(broker, session_id, 2))
    assert list(found) == [("t", 1)]
    assert offsets(found["t", 1]) == [0]


def test_a_partition_keeps_its_offset_until_the_client_moves_it(broker: Broker) -> None:
    broker.create_topic("t", 1)
    session_id = open_session(broker, 1)
    produce(broker, batch(2))
    for epoch in (1, 2):
        assert offsets(partitions_of(next_fetch(broker, session_id, epoch))["t", 0]) == [0]
    response = next_fetch(broker, session_id, 3, ("t", 0, 2))
    assert response.responses == []
    produce(broker, batch(1))
    assert offsets(partitions_of(next_fetch(broker, session_id, 4))["t", 0]) == [2]


def test_a_new_log_start_is_news(broker: Broker) -> None:
    broker.create_topic("t", 1)
    produce(broker, batch(5))
    session_id = open_session(broker, 1)
    next_fetch(broker, session_id, 1, ("t", 0, 5))
    broker.partition("t").delete_records_before(3)
    (data,) = partitions_of(next_fetch(broker, session_id, 2)).values()
    assert data.log_start_offset == 3


def test_an_error_is_told_each_time_and_its_end_as_well(broker: Broker) -> None:
    broker.create_topic("t", 1)
    session_id = open_session(broker, 1)
    next_fetch(broker, session_id, 1, ("u", 0, 0))
    for epoch in (2, 3):
        found = partitions_of(next_fetch(broker, session_id, epoch))
        assert [(k, d.error_code) for k, d in found.items()] == [
            (("u", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        ]
    broker.create_topic("u")
    found = partitions_of(next_fetch(broker, session_id, 4))
    assert [(k, d.error_code) for k, d in found.items()] == [(("u", 0), ErrorCode.NONE)]
    assert next_fetch(broker, session_id, 5).responses == []


def test_forgotten_partitions_are_not_read_again(broker: Broker) -> None:
    broker.create_topic("t", 2)
    session_id = open_session(broker, 2)
    gone = [ForgottenTopic(topic="t", partitions=[0])]
    next_fetch(broker, session_id, 1, forgotten_topics_data=gone)
    for index in (0, 1):
        produce(broker, batch(), index=index)
    assert list(partitions_of(next_fetch(broker, session_id, 2))) == [("t", 1)]


def test_partitions_take_turns_where_not_all_fit(broker: Broker) -> None:
    broker.create_topic("t", 3)
    session_id = open_session(broker, 3)
    for index in range(3):
        produce(broker, batch(5), index=index)
    served = []
    for epoch in range(1, 7):
        response = next_fetch(broker, session_id, epoch, max_bytes=1)
        served += [key[1] for key, data in partitions_of(response).items() if data.records]
    assert served == [0, 1, 2, 0, 1, 2]


def test_errors_about_the_session_are_at_the_top_of_the_response(broker: Broker) -> None:
    broker.create_topic("t", 1)
    session_id = open_session(broker, 1)
    for bad_id, epoch, code in (
        (session_id, 7, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (session_id + 1, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ):
        response = next_fetch(broker, bad_id, epoch)
        assert (response.error_code, response.session_id, response.responses) == (code, 0, [])
    response = next_fetch(broker, session_id, 1, version=17)
    assert response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_by_topic_ids_works_the_same(broker: Broker) -> None:
    topic_id = broker.create_topic("t", 1)
    response = send_fetch(broker, (topic_id, 0, 0), session_epoch=0, version=17).response
    produce(broker, batch(1))
    found = partitions_of(next_fetch(broker, response.session_id, 1, version=17))
    assert list(found) == [(topic_id, 0)]


def test_a_waiting_incremental_fetch_is_woken_by_any_of_its_partitions(broker: Broker) -> None:
    broker.create_topic("t", 3)
    session_id = open_session(broker, 3)
    waiting = send_fetch(broker, session_id=session_id, session_epoch=1, max_wait_ms=500)
    assert not waiting.is_answered
    produce(broker, batch(), index=2)
    assert list(partitions_of(waiting.response)) == [("t", 2)]


def test_versions_before_sessions_have_none(broker: Broker) -> None:
    broker.create_topic("t", 1)
    response = send_fetch(broker, ("t", 0, 0), version=6).response
    assert response.session_id == 0
    assert len(broker.sessions) == 0
