"""The answers in a conversation about transactions, as text that compares between brokers."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode
from headrace.records.batch import iter_headers
from headrace.records.control import ControlType, control_type
from headrace.records.reader import read_batch
from headrace.transactions.transaction import ProducerIdentity, TopicPartition


class Names:
    """What a script calls things, and what they are on the broker."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._producers: dict[int, str] = {}

    def own(self, name: str) -> str:
        return self._prefix + name

    def short(self, name: str) -> str:
        return name.removeprefix(self._prefix)

    def is_own(self, name: str) -> bool:
        return name.startswith(self._prefix)

    def place(self, word: str) -> TopicPartition:
        topic, _, index = word.rpartition("-")
        return TopicPartition(self.own(topic), int(index))

    def identity(self, word: str) -> ProducerIdentity:
        name, _, epoch = word.partition("/")
        known = {text: number for number, text in self._producers.items()}
        return ProducerIdentity(known.get(name, 999_999), int(epoch))

    def producer(self, producer_id: int, epoch: int) -> str:
        name = self._producers.setdefault(producer_id, f"P{len(self._producers) + 1}")
        return f"{name}/{epoch}"


class Answers:
    def __init__(self, names: Names) -> None:
        self._names = names

    def code(self, code: int) -> str:
        return "ok" if code == 0 else ErrorCode(code).name

    def identity(self, response: Any) -> str:
        if response.error_code:
            return self.code(response.error_code)
        return self._names.producer(response.producer_id, response.producer_epoch)

    def ended(self, response: Any, version: int | None) -> str:
        if response.error_code or (version is not None and version < 5):
            return self.code(response.error_code)
        return self.identity(response)

    def added(self, response: Any) -> str:
        if response.error_code:
            return self.code(response.error_code)
        topics = list(response.results_by_topic_v3_and_below)
        for result in response.results_by_transaction:
            topics += result.topic_results
        codes = {
            f"{self._names.short(topic.name)}-{one.partition_index}": one.partition_error_code
            for topic in topics
            for one in topic.results_by_partition
        }
        if len(set(codes.values())) == 1:
            return self.code(next(iter(codes.values())))
        return ", ".join(f"{at} {self.code(code)}" for at, code in sorted(codes.items()))

    def produced(self, response: Any) -> str:
        (result,) = response.responses[0].partition_responses
        return self.code(result.error_code) if result.error_code else f"at {result.base_offset}"

    def offsets(self, response: Any) -> str:
        codes = {
            f"{self._names.short(topic.name)}-{one.partition_index}": one.error_code
            for topic in response.topics
            for one in topic.partitions
        }
        if len(set(codes.values())) == 1:
            return self.code(next(iter(codes.values())))
        return ", ".join(f"{at} {self.code(code)}" for at, code in sorted(codes.items()))

    def committed(self, response: Any) -> str:
        (group,) = response.groups
        if group.error_code:
            return self.code(group.error_code)
        (one,) = group.topics[0].partitions
        return self.code(one.error_code) if one.error_code else f"{one.committed_offset}"

    def fetched(self, response: Any) -> str:
        (one,) = response.responses[0].partitions
        if one.error_code:
            return self.code(one.error_code)
        words = []
        data = bytes(one.records or b"")
        for position, header in iter_headers(data):
            for record in read_batch(data, position):
                if header.is_control:
                    kind = "commit" if control_type(record) is ControlType.COMMIT else "abort"
                    producer = self._names.producer(header.producer_id, header.producer_epoch)
                    words.append(f"<{kind} {producer}>")
                else:
                    words.append((record.value or b"").decode())
        aborted = [
            f"{self._names.producer(txn.producer_id, 0).partition('/')[0]}@{txn.first_offset}"
            for txn in one.aborted_transactions or ()
        ]
        text = f"{' '.join(words)} (stable {one.last_stable_offset} of {one.high_watermark})"
        return f"{text} aborted {' '.join(aborted)}" if aborted else text

    def marked(self, response: Any) -> str:
        (one,) = response.markers[0].topics[0].partitions
        return self.code(one.error_code)

    def described(self, response: Any) -> str:
        (state,) = response.transaction_states
        if state.error_code:
            return self.code(state.error_code)
        places = sorted(
            f"{self._names.short(topic.topic)}-{partition}"
            for topic in state.topics
            for partition in topic.partitions
        )
        producer = self._names.producer(state.producer_id, state.producer_epoch)
        began = "begun" if state.transaction_start_time_ms > 0 else "not begun"
        text = f"{state.transaction_state} {producer} {state.transaction_timeout_ms} ms {began}"
        return f"{text} [{' '.join(places)}]" if places else text

    def listed(self, response: Any) -> str:
        if response.error_code:
            return self.code(response.error_code)
        states = sorted(
            f"{self._names.short(one.transactional_id)} {one.transaction_state}"
            for one in response.transaction_states
            if self._names.is_own(one.transactional_id)
        )
        unknown = [f"unknown {name}" for name in response.unknown_state_filters]
        return ", ".join([*states, *unknown]) or "nothing"

    def producers(self, response: Any) -> str:
        (one,) = response.topics[0].partitions
        if one.error_code:
            return self.code(one.error_code)
        texts = []
        for state in sorted(one.active_producers, key=lambda state: state.producer_id):
            name = self._names.producer(state.producer_id, state.producer_epoch)
            open_at = state.current_txn_start_offset
            texts.append(f"{name} sequence {state.last_sequence} open at {open_at}")
        return ", ".join(texts) or "nobody"
