"""Our assignors against Kafka's own classes, on random groups."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace

import pytest

from headrace.client.assignors.strategies import Strategy, find_strategies
from headrace.client.assignors.subscriber import Shares, Subscriber
from headrace.client.groups_protocol import read_subscriber, write_subscription
from headrace.protocol.compiler import read
from headrace.protocol.embedded import ConsumerProtocolSubscription
from headrace.protocol.messages.join_group import JoinGroupResponseMember
from tests.support.java import java_command
from tests.support.tools import JAVA_SOURCES

_SOURCE = JAVA_SOURCES / "oracle" / "AssignorOracle.java"
_CASES = 150

Case = tuple[list[Subscriber], dict[str, int]]


def groups(seed: int, strategy: Strategy, *, alike: bool) -> list[Case]:
    """Random groups that have had an assignment already, some members then gone, some new."""
    chance = random.Random(seed)
    cases = []
    for _ in range(_CASES):
        counts = {f"t{n}": chance.randint(1, 9) for n in range(chance.randint(1, 4))}
        members = [_member(chance, f"m{n}", counts, alike) for n in range(chance.randint(1, 6))]
        shares = strategy.assign(members, counts)
        stayed = [replace(m, owned=tuple(shares[m.member_id]), generation=3) for m in members]
        stayed = [m for m in stayed if chance.random() < 0.7]
        came = [_member(chance, f"n{n}", counts, alike) for n in range(chance.randint(1, 3))]
        everybody = stayed + came
        chance.shuffle(everybody)
        wanted = {topic for member in everybody for topic in member.topics}
        cases.append((everybody, {t: n for t, n in counts.items() if t in wanted}))
    return cases


def _member(chance: random.Random, name: str, counts: dict[str, int], alike: bool) -> Subscriber:
    topics = [t for t in counts if alike or chance.random() < 0.7] or ["t0"]
    instance = f"i{chance.randint(0, 99)}-{name}" if chance.random() < 0.3 else None
    return Subscriber(name, instance, tuple(topics))


def ask_java(strategy: Strategy, cases: list[Case]) -> list[Shares]:
    lines = []
    for members, counts in cases:
        topics = ",".join(f"{name}={count}" for name, count in counts.items())
        rows = ";".join(_row(member, strategy.name) for member in members)
        lines.append(f"{strategy.name}\t{topics}\t{rows}\n")
    done = subprocess.run(
        java_command(str(_SOURCE)),
        input="".join(lines),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [_shares(line) for line in done.stdout.splitlines()]


def _row(member: Subscriber, assignor: str) -> str:
    """Owned partitions and generation go as our client would tell them."""
    data = write_subscription(
        member.topics,
        owned=() if assignor == "sticky" else member.owned,
        generation=member.generation,
        assignor=assignor,
        last=member.owned,
        last_generation=member.generation,
    )
    assert _read_back(member, data, assignor) == member
    message, _ = read(ConsumerProtocolSubscription, 3, data, 2)
    owned = ",".join(f"{row.topic}:{i}" for row in message.owned_partitions for i in row.partitions)
    user_data = bytes(message.user_data or b"").hex()
    topics = ",".join(message.topics)
    who = [member.member_id, member.instance_id or ""]
    return "|".join([*who, topics, owned, str(message.generation_id), user_data])


def _read_back(member: Subscriber, data: bytes, assignor: str) -> Subscriber:
    row = JoinGroupResponseMember(
        member_id=member.member_id, group_instance_id=member.instance_id, metadata=data
    )
    found = read_subscriber(row, assignor)
    generation = found.generation if found.owned or assignor != "sticky" else member.generation
    return replace(found, topics=member.topics, owned=member.owned, generation=generation)


def _shares(line: str) -> Shares:
    shares: Shares = {}
    for row in line.split(";"):
        member, _, names = row.partition("=")
        pairs = (name.split(":") for name in names.split(",") if name)
        shares[member] = [(topic, int(index)) for topic, index in pairs]
    return shares


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_every_member_gets_the_same_partitions(name: str) -> None:
    (strategy,) = find_strategies(name)
    cases = groups(1, strategy, alike=False)
    for (members, counts), theirs in zip(cases, ask_java(strategy, cases), strict=True):
        ours = strategy.assign(members, counts)
        assert {m: sorted(share) for m, share in ours.items()} == {
            m: sorted(share) for m, share in theirs.items()
        }


def imbalance(shares: Shares) -> int:
    """The sum of the differences of all pairs of members, which Kafka's assignor lowers."""
    sizes = [len(share) for share in shares.values()]
    return sum(abs(a - b) for a in sizes for b in sizes)


def kept(members: list[Subscriber], shares: Shares) -> int:
    return sum(len(set(m.owned) & set(shares[m.member_id])) for m in members)


@pytest.mark.parametrize("alike", [True, False], ids=["alike", "unlike"])
def test_the_sticky_assignor_is_as_even_as_kafkas_and_moves_no_more(alike: bool) -> None:
    (strategy,) = find_strategies("sticky")
    cases = groups(2, strategy, alike=alike)
    moves_more = 0
    for (members, counts), theirs in zip(cases, ask_java(strategy, cases), strict=True):
        ours = strategy.assign(members, counts)
        assert sorted(p for share in ours.values() for p in share) == sorted(
            p for share in theirs.values() for p in share
        )
        assert imbalance(ours) <= imbalance(theirs)
        if imbalance(ours) == imbalance(theirs):
            moves_more += kept(members, theirs) - kept(members, ours)
            assert not alike or kept(members, ours) >= kept(members, theirs)
    assert moves_more <= 0


@pytest.mark.parametrize("alike", [True, False], ids=["alike", "unlike"])
def test_the_cooperative_assignor_takes_nothing_from_those_who_hold_it(alike: bool) -> None:
    (strategy,) = find_strategies("cooperative-sticky")
    cases = groups(3, strategy, alike=alike)
    for (members, counts), theirs in zip(cases, ask_java(strategy, cases), strict=True):
        ours = strategy.assign(members, counts)
        holders = {p: m.member_id for m in members for p in m.owned}
        for shares in (ours, theirs):
            for member, share in shares.items():
                assert all(holders.get(p, member) == member for p in share)
        if alike:
            assert sum(map(len, ours.values())) >= sum(map(len, theirs.values()))
