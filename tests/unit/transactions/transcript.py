"""Scenarios as text: a command a line, and below it, indented, what came of it.

    init ID [timeout=MS] [as PRODUCER/EPOCH]       a producer begins
    add ID PRODUCER/EPOCH PARTITION...             partitions join its transaction (version 2)
    add-old, verify                                the same by the old protocol, and its check
    commit ID PRODUCER/EPOCH, abort ...            the end, by version 2
    commit-old, abort-old                          the end, by the old protocol
    marked                                         all markers are written
    wait MS, restart, transaction.version LEVEL
    fail ERROR                                     the next write of the coordinator fails
    no-ids, ids                                    whether producer ids are at hand
    epoch ID EPOCH                                 as if the producer had used many epochs

Everything after the reply (`->`) is what the coordinator wants done and knows afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.base.errors import ErrorCode, KafkaError
from headrace.transactions.requests import AddPartitions, EndTransaction, InitProducer
from headrace.transactions.transaction import ProducerIdentity, TopicPartition, Transaction
from tests.unit.transactions.runner import Runner


def play(script: str) -> str:
    """Run the commands of a script; returns the script with what came of them."""
    runner = Runner()
    lines: list[str] = []
    for line in script.splitlines():
        if line.startswith("    "):
            continue
        lines.append(line)
        if line.strip() and not line.startswith("#"):
            lines += [f"    {result}" for result in _run(runner, line.split())]
    return "\n".join(lines) + "\n"


def _run(runner: Runner, words: list[str]) -> list[str]:
    command, *rest = words
    before = {one.transactional_id: one for one in runner.coordinator}
    known_markers = list(runner.markers)
    results: list[str] = []
    if command in _REQUESTS:
        results.append(f"-> {_said(runner.ask(_request(command, rest)))}")
    else:
        _control(runner, command, rest)
    for work in runner.markers:
        if work not in known_markers:
            kind = "commit" if work.committed else "abort"
            places = " ".join(f"{topic}-{partition}" for topic, partition in work.partitions)
            results.append(
                f"markers: {kind} {work.producer_id}/{work.producer_epoch}"
                f" (coordinator epoch {work.coordinator_epoch},"
                f" version {work.transaction_version}) {places}".rstrip()
            )
    after = {one.transactional_id: one for one in runner.coordinator}
    results += [_state(one) for id_, one in after.items() if before.get(id_) != one]
    results += [f"{id_}: forgotten" for id_ in before if id_ not in after]
    return results


_REQUESTS = frozenset(
    {"init", "add", "add-old", "verify", "commit", "abort", "commit-old", "abort-old"}
)


def _request(command: str, rest: list[str]) -> InitProducer | AddPartitions | EndTransaction:
    id_, *rest = rest
    if command == "init":
        timeout_ms, expected = 60_000, None
        for number, word in enumerate(rest):
            if word.startswith("timeout="):
                timeout_ms = int(word.removeprefix("timeout="))
            elif word == "as":
                expected = _identity(rest[number + 1])
        return InitProducer(id_, timeout_ms, expected)
    producer = _identity(rest[0])
    version = 0 if command.endswith("-old") else 2
    if command.startswith(("commit", "abort")):
        return EndTransaction(id_, producer, command.startswith("commit"), version)
    partitions = frozenset(_partition(word) for word in rest[1:])
    return AddPartitions(id_, producer, partitions, version, verify_only=command == "verify")


def _control(runner: Runner, command: str, rest: list[str]) -> None:
    if command == "marked":
        runner.mark_all()
    elif command == "wait":
        runner.advance(int(rest[0]))
    elif command == "restart":
        runner.restart()
    elif command == "transaction.version":
        runner.transaction_version = int(rest[0])
    elif command == "fail":
        runner.write_error = KafkaError(ErrorCode[rest[0]])
    elif command in ("no-ids", "ids"):
        runner.next_producer_id = 900 if command == "ids" else None
    elif command == "epoch":
        _exhaust(runner, rest[0], int(rest[1]))
    else:
        raise ValueError(command)


def _exhaust(runner: Runner, id_: str, epoch: int) -> None:
    transaction = runner.coordinator.get(id_)
    assert transaction is not None
    changed = replace(transaction, producer_epoch=epoch)
    runner.log.append(runner.codec.encode(id_, changed))
    runner.coordinator.apply(id_, changed, -1)


def _identity(word: str) -> ProducerIdentity:
    producer_id, epoch = word.split("/")
    return ProducerIdentity(int(producer_id), int(epoch))


def _partition(word: str) -> TopicPartition:
    topic, _, index = word.rpartition("-")
    return TopicPartition(topic, int(index))


def _said(reply: object) -> str:
    if isinstance(reply, KafkaError):
        return reply.code.name
    if isinstance(reply, ProducerIdentity):
        return f"{reply.producer_id}/{reply.producer_epoch}"
    assert isinstance(reply, dict)
    refused = [f"{at.topic}-{at.partition} {code.name}" for at, code in reply.items() if code]
    return ", ".join(sorted(refused)) or "ok"


def _state(one: Transaction) -> str:
    text = f"{one.transactional_id}: {one.state.label} {one.producer_id}/{one.producer_epoch}"
    if one.next_producer_id >= 0:
        text += f" next {one.next_producer_id}"
    places = " ".join(f"{at.topic}-{at.partition}" for at in sorted(one.partitions))
    return f"{text} [{places}]" if places else text
