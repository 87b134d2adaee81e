"""Clients with habits: what each does next is left to chance, most of it what it did before."""

import random
from collections import Counter
from typing import Any

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.fetch import ForgottenTopic
from headrace.records.batch import iter_headers
from headrace.records.codecs import Codec
from tests.unit.broker.batches import batch, damaged, fetch_request, produce_request
from tests.unit.broker.twins import FETCH, Pair, Twins, new_connection

VERSION = 12
#: So that one partition is enough to be busy, and two to be confused.
PARTITIONS = {"t": 2, "other": 1}


class RandomClient:
    """One connection, with habits."""

    def __init__(self, twins: Twins, chance: random.Random, number: int) -> None:
        self.twins = twins
        self.chance = chance
        self.client_id = f"client-{number}"
        self.producer_id = number
        self.connection = new_connection(
            twins.authorizer, chance.choice((1 << 62, 1 << 62, 33_000))
        )
        self.topic = chance.choice(("t", "t", "t", "other"))
        self.index = chance.choice((0, 0, PARTITIONS[self.topic] - 1))
        self.acks = chance.choice((1, 1, 1, -1, -1, -1, 0))
        #: The first of all mostly writes, the second mostly reads.
        self.reads = (0.1, 0.95)[number % 2]
        self.is_idempotent = chance.random() < 0.5
        self.sequences: Counter[tuple[str, int]] = Counter()
        self.offset = 0
        self.limits = {
            "max_wait_ms": chance.choice((0, 2, 100, 500, 500, 500, 6_000)),
            "min_bytes": chance.choice((0, 1, 1, 1, 1, 100, 200)),
            "max_bytes": chance.choice((1, 100, *[1 << 20] * 5)),
            "partition_bytes": chance.choice((1, 150, *[1 << 20] * 5)),
            "isolation_level": chance.choice((0, 1)),
        }
        self.uses_sessions = chance.random() < 0.6
        self.session: tuple[int, int] = (0, 0)
        self.waiting: Pair | None = None

    @property
    def is_free(self) -> bool:
        return self.waiting is None

    def act(self) -> None:
        if self.chance.random() < self.reads:
            self.fetch()
        else:
            self.produce()

    def send(self, request: Any) -> Pair:
        pair = self.twins.send(
            request, VERSION, client_id=self.client_id, connection=self.connection
        )
        if not pair.is_answered:
            self.waiting = pair
        return pair

    # Produce

    def produce(self) -> None:
        topic, index = self.place()
        parts = [(topic, index, self.batch(topic, index))]
        while self.chance.random() < 0.15:
            index = self.chance.randrange(PARTITIONS.get(topic, 1) + (self.chance.random() < 0.1))
            parts.append((topic, index, self.batch(topic, index)))
        acks = self.acks if self.chance.random() < 0.95 else self.chance.choice((0, 1, -1, 2))
        pair = self.send(produce_request(*parts, acks=acks))
        if self.is_free:
            self.begin_anew_if_refused(pair)

    def begin_anew_if_refused(self, pair: Pair) -> None:
        """As another producer, whose first sequence is 0 again."""
        if b"sequence" in b"".join(raw for raw in pair.knowing.raw if isinstance(raw, bytes)):
            self.producer_id += 10
            self.sequences.clear()

    def place(self) -> tuple[str, int]:
        if self.chance.random() < 0.95:
            return self.topic, self.index
        topic = self.chance.choice((*PARTITIONS, "nowhere"))
        return topic, self.chance.randrange(3)

    def batch(self, topic: str, index: int) -> bytes | None:
        chance = self.chance
        options: dict[str, Any] = {"value": b"v" * chance.choice((1, 1, 5, 30))}
        count = chance.choice((1, 1, 1, 2, 5))
        if chance.random() < 0.03:
            options["value"] = b"large" * chance.choice((3_000, 8_000))
        if chance.random() < 0.1:
            options["codec"] = chance.choice(tuple(Codec))
        if chance.random() < 0.1:
            options["key"] = None
        if self.is_idempotent:
            sequence = self.sequences[topic, index]
            if chance.random() < 0.05:
                sequence = max(0, sequence + chance.choice((-2, -1, 1)))
            else:
                self.sequences[topic, index] += count
            options |= {"producer_id": self.producer_id, "producer_epoch": 0}
            options["base_sequence"] = sequence
        data = batch(count, **options)
        if chance.random() < 0.03:
            return spoiled(chance, data)
        return bytes(data)

    # Fetch

    def fetch(self) -> None:
        if self.chance.random() < 0.15:
            self.offset = max(0, self.offset + self.chance.choice((-3, -1, 1, 2)))
        session_id, epoch = self.session
        if not self.uses_sessions:
            epoch = -1
        elif self.chance.random() < 0.03:
            epoch += self.chance.choice((-1, 1))
        options: dict[str, Any] = dict(self.limits)
        positions = [(self.topic, self.index, self.offset)]
        draw = self.chance.random()
        if draw < 0.04:
            positions.append(("t", self.chance.randrange(3), 0))
        elif draw < 0.06:
            positions = []
        elif draw < 0.09:
            forgotten = ForgottenTopic(topic="t", partitions=[1 - self.index])
            options["forgotten_topics_data"] = [forgotten]
        request = fetch_request(*positions, session_id=session_id, session_epoch=epoch, **options)
        pair = self.send(request)
        if self.is_free:
            self.learn(pair)

    def learn(self, pair: Pair) -> None:
        """Go on where the answer says."""
        response = pair.response
        _, epoch = self.session
        if self.uses_sessions:
            failed = response.error_code or response.session_id == 0
            self.session = (0, 0) if failed else (response.session_id, epoch + 1)
        for topic in response.responses:
            for data in topic.partitions:
                if (topic.topic, data.partition_index) != (self.topic, self.index):
                    continue
                if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self.offset = 0
                elif data.records:
                    self.offset = list(iter_headers(data.records))[-1][1].next_offset

    def look(self) -> None:
        """Whether what this client waits for has come."""
        if self.waiting is not None and self.waiting.is_answered:
            pair, self.waiting = self.waiting, None
            if type(pair.knowing.request).api_key == FETCH:
                self.learn(pair)

    def leave(self) -> None:
        if self.waiting is not None:
            self.waiting.abandon()
            self.waiting = None
            self.session = (0, 0)
            if self.chance.random() < 0.7:
                self.connection = new_connection(self.twins.authorizer)


def spoiled(chance: random.Random, data: bytearray) -> bytes | None:
    kind = chance.randrange(7)
    if kind == 0:
        return None
    if kind == 1:
        return bytes(data + data)
    if kind == 2:
        return bytes(data + b"behind")
    if kind == 3:
        return bytes(data[: chance.randrange(len(data))])
    if kind == 4:
        return bytes(damaged(data, 22, 0x10, sound_crc=True))
    return bytes(damaged(data, chance.randrange(len(data)), chance.randrange(256)))
