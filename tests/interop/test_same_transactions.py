"""Transactions over the wire go as they go with Apache Kafka, error by error and file by file.

The stories are those of `tests/unit/broker/transaction_scenarios`, with our answers in them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode
from tests.support.raw_call import calls_to
from tests.support.transaction_talk import Conversation, play

_UNIT = Path(__file__).parents[1] / "unit" / "broker" / "transaction_scenarios"
SCENARIOS = sorted(_UNIT.glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_apache_kafka_tells_the_same_story(path: Path, apache: ApacheKafka) -> None:
    told = path.read_text()
    with calls_to(apache) as call:
        assert play(told, call, f"{path.stem}-") == told


_FIRST = """\
topic a 2
init open
init done
produce open P1/0 a-0 0 one
offsets open g P1/0 a-0=7
produce done P2/0 a-1 0 two
commit done P2/0
produce done P2/1 a-1 0 three
abort done P2/1
"""
_SECOND = """\
describe open
    -> Ongoing P1/0 60000 ms begun [__consumer_offsets-0 a-0]
describe done
    -> CompleteAbort P2/2 60000 ms begun
fetch a-0
    ->  (stable 0 of 1)
stable g a-0
    -> UNSTABLE_OFFSET_COMMIT
produce open P1/0 a-0 1 four
    -> at 1
produce open P1/0 a-1 0 five
    -> at 4
commit open P1/0
    -> P1/1
fetch a-0
    -> one four <commit P1/1> (stable 3 of 3)
stable g a-0
    -> 7
produce done P2/1 a-1 1 late
    -> INVALID_PRODUCER_EPOCH
produce done P2/2 a-1 0 six
    -> at 6
offsets done g P2/2 a-0=8
    -> ok
"""
_THIRD = """\
describe open
    -> CompleteCommit P1/1 60000 ms begun
describe done
    -> Ongoing P2/2 60000 ms begun [__consumer_offsets-0 a-1]
stable g a-0
    -> UNSTABLE_OFFSET_COMMIT
abort done P2/2
    -> P2/3
stable g a-0
    -> 7
fetch a-1
    -> two <commit P2/1> three <abort P2/2> five <commit P1/1> six <abort P2/3>\
 (stable 8 of 8) aborted P2@2 P2@6
init open
    -> P1/2
"""


@pytest.mark.parametrize("order", ["ours first", "theirs first"])
@pytest.mark.no_second_chance
def test_a_directory_changes_hands_in_the_middle_of_transactions(
    order: str, tmp_path: Path, apache: ApacheKafka
) -> None:
    directory = tmp_path / "data"
    ours = HeadraceNode(directory, settings=apache.default_settings())
    theirs = ApacheKafka(directory)
    one, other = (ours, theirs) if order == "ours first" else (theirs, ours)
    with one, calls_to(one) as call:
        talk = Conversation(call)
        talk.play(_FIRST)
    with other, calls_to(other) as call:
        talk.go_on_with(call)
        assert talk.play(_SECOND) == _SECOND
    with one, calls_to(one) as call:
        talk.go_on_with(call)
        assert talk.play(_THIRD) == _THIRD
