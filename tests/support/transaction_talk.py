"""Transactions over the wire as text: a command a line, and below it, indented, the answer.

    topic NAME COUNT                         a topic with partitions NAME-0, NAME-1, ...
    init ID [timeout=MS] [as P1/0]           InitProducerId
    add ID P1/0 a-0 ...                      AddPartitionsToTxn; `verify` only asks
    produce ID P1/0 a-0 SEQUENCE VALUE...    Produce
    commit ID P1/0, abort ID P1/0            EndTxn
    add-offsets ID GROUP P1/0                AddOffsetsToTxn
    offsets ID GROUP P1/0 a-0=17 ...         TxnOffsetCommit
    committed GROUP a-0, stable GROUP a-0    OffsetFetch, the second with require_stable
    fetch a-0                                Fetch as a read_committed consumer
    ends a-0                                 ListOffsets: the end for each isolation level
    markers commit|abort P1/1 a-0            WriteTxnMarkers (transaction.version 2)
    describe ID, list [STATE...], producers a-0

`@N` after a command asks with version N. Producer ids are P1, P2, ... in the order of their first
appearance. Each script has topics, groups and transactional ids of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic, sleep, time
from typing import Any

from headrace.base.errors import ErrorCode
from headrace.protocol.schema import Request
from headrace.transactions.transaction import ProducerIdentity
from tests.support import transaction_requests as requests
from tests.support.transaction_answers import Answers, Names

#: Sends a request with a version, or the newest one, and returns the response.
Call = Callable[[Request, int | None], Any]

_PATIENCE_S = 30
_GROUP, _TRANSACTION = 0, 1
#: A coordinator that is on its way, or the last transaction that is still ending.
_NOT_YET = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


def wall_ms() -> int:
    return int(time() * 1000)


def play(script: str, call: Call, prefix: str = "", now_ms: Callable[[], int] = wall_ms) -> str:
    """Run the commands of a script; returns the script with what was answered."""
    return Conversation(call, prefix, now_ms).play(script)


class Conversation:
    """Knows producers by their names for as long as it lasts."""

    def __init__(self, call: Call, prefix: str = "", now_ms: Callable[[], int] = wall_ms) -> None:
        self._now_ms = now_ms
        self._call = call
        self._names = Names(prefix)
        self._answers = Answers(self._names)
        self._ids: set[str] = set()

    def go_on_with(self, call: Call) -> None:
        """From here on another broker answers."""
        self._call = call
        self._ids.clear()

    def play(self, script: str) -> str:
        lines: list[str] = []
        for line in script.splitlines():
            if line.startswith("    "):
                continue
            lines.append(line)
            if line.strip() and not line.startswith("#"):
                lines += [f"    {answer}" for answer in self.run(line.split())]
        return "\n".join(lines) + "\n"

    def run(self, words: list[str]) -> list[str]:
        command, _, version = words[0].partition("@")
        method = getattr(self, "_" + command.replace("-", "_"))
        answer: str | None = method(words[1:], int(version) if version else None)
        return [] if answer is None else [f"-> {answer}"]

    def _topic(self, rest: list[str], version: int | None) -> None:
        response = self._call(requests.topic(self._names.own(rest[0]), int(rest[1])), None)
        assert response.topics[0].error_code == 0, response
        for index in range(int(rest[1])):
            _wait_until(partial(self._is_led, f"{rest[0]}-{index}"))

    def _init(self, rest: list[str], version: int | None) -> str:
        timeout_ms, expected = 60_000, ProducerIdentity(-1, -1)
        for number, word in enumerate(rest):
            if word.startswith("timeout="):
                timeout_ms = int(word.removeprefix("timeout="))
            elif word == "as":
                expected = self._names.identity(rest[number + 1])
        id_ = self._names.own(rest[0])
        self._find(_TRANSACTION, id_)
        response = self._patiently(requests.init(id_, timeout_ms, expected), version)
        self._settle(id_)
        return self._answers.identity(response)

    def _add(self, rest: list[str], version: int | None, verify: bool = False) -> str:
        places = [self._names.place(word) for word in rest[2:]]
        request = requests.add(
            self._names.own(rest[0]),
            self._names.identity(rest[1]),
            places,
            5 if version is None else version,
            verify,
        )
        return self._answers.added(self._call(request, version))

    def _verify(self, rest: list[str], version: int | None) -> str:
        return self._add(rest, version, verify=True)

    def _produce(self, rest: list[str], version: int | None) -> str:
        request = requests.produce(
            self._names.own(rest[0]) if rest[0] != "-" else None,
            self._names.identity(rest[1]),
            self._names.place(rest[2]),
            int(rest[3]),
            rest[4:],
            self._now_ms(),
        )
        return self._answers.produced(self._call(request, version or 12))

    def _commit(self, rest: list[str], version: int | None, committed: bool = True) -> str:
        id_ = self._names.own(rest[0])
        request = requests.end(id_, self._names.identity(rest[1]), committed)
        answer = self._answers.ended(self._call(request, version), version)
        self._settle(id_)
        return answer

    def _abort(self, rest: list[str], version: int | None) -> str:
        return self._commit(rest, version, committed=False)

    def _add_offsets(self, rest: list[str], version: int | None) -> str:
        id_, group = self._names.own(rest[0]), self._names.own(rest[1])
        self._find(_GROUP, group)
        request = requests.add_offsets(id_, group, self._names.identity(rest[2]))
        return self._answers.code(self._call(request, version).error_code)

    def _offsets(self, rest: list[str], version: int | None) -> str:
        group = self._names.own(rest[1])
        self._find(_GROUP, group)
        offsets = {}
        for word in rest[3:]:
            place, _, offset = word.partition("=")
            offsets[self._names.place(place)] = int(offset)
        identity = self._names.identity(rest[2])
        request = requests.offsets(self._names.own(rest[0]), group, identity, offsets)
        return self._answers.offsets(self._call(request, version))

    def _committed(self, rest: list[str], version: int | None, stable: bool = False) -> str:
        group = self._names.own(rest[0])
        self._find(_GROUP, group)
        place = self._names.place(rest[1])
        response = self._call(requests.committed(group, place, stable), 8)
        return self._answers.committed(response)

    def _stable(self, rest: list[str], version: int | None) -> str:
        return self._committed(rest, version, stable=True)

    def _is_led(self, place: str) -> bool:
        return "stable" in self._fetch([place], None)

    def _fetch(self, rest: list[str], version: int | None) -> str:
        return self._answers.fetched(self._call(requests.fetch(self._names.place(rest[0])), 12))

    def _ends(self, rest: list[str], version: int | None) -> str:
        place = self._names.place(rest[0])
        ends = [self._call(requests.end_offset(place, level), 6) for level in (1, 0)]
        stable, end = (one.topics[0].partitions[0].offset for one in ends)
        return f"stable {stable} of {end}"

    def _markers(self, rest: list[str], version: int | None) -> str:
        identity = self._names.identity(rest[1])
        request = requests.markers(rest[0] == "commit", identity, self._names.place(rest[2]))
        return self._answers.marked(self._call(request, version))

    def _describe(self, rest: list[str], version: int | None) -> str:
        request = requests.describe(self._names.own(rest[0]))
        response = self._patiently(request, None, lambda answer: answer.transaction_states[0])
        return self._answers.described(response)

    def _list(self, rest: list[str], version: int | None) -> str:
        return self._answers.listed(self._call(requests.listing(rest), None))

    def _producers(self, rest: list[str], version: int | None) -> str:
        response = self._call(requests.producers(self._names.place(rest[0])), None)
        return self._answers.producers(response)

    def _find(self, kind: int, key: str) -> None:
        """Make the internal topic, and wait for the coordinator."""
        if key in self._ids:
            return
        self._ids.add(key)

        def is_found() -> bool:
            if self._call(requests.find(kind, key), 4).coordinators[0].error_code:
                return False
            if kind == _TRANSACTION:
                return True
            place = self._names.place("any-0")
            (group,) = self._call(requests.committed(key, place, stable=False), 8).groups
            return group.error_code not in _NOT_YET

        _wait_until(is_found)

    def _patiently(
        self,
        request: Request,
        version: int | None,
        result: Callable[[Any], Any] = lambda response: response,
    ) -> Any:
        """Ask until the coordinator is there; `result` has the error code."""
        responses: list[Any] = []

        def is_answered() -> bool:
            responses.append(self._call(request, version))
            return result(responses[-1]).error_code not in _NOT_YET

        _wait_until(is_answered)
        return responses[-1]

    def _settle(self, id_: str) -> None:
        """Wait until the markers are written."""

        def is_settled() -> bool:
            (state,) = self._call(requests.describe(id_), None).transaction_states
            return not state.transaction_state.startswith("Prepare")

        _wait_until(is_settled)


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + _PATIENCE_S
    while not condition():
        assert monotonic() < deadline
        sleep(0.02)
