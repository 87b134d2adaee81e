"""Requests that a client repeats: what they begin with is known, and what differs is little.

A producer that waits for each record, a consumer at the end of a log, and one that commits as it
goes say the same thing again and again: the same topic, partition and limits, with other records
or another offset. Once such a request has come twice, the next one is recognised by its bytes and
served without being decoded, and its answer is put together from one that was encoded before.
Everything that may have changed since is looked at again, and whatever is unusual about a request
leaves it to the ordinary way, which begins from the start: so nothing may have happened by then.
"""

from __future__ import annotations

import logging
import struct
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final

from headrace.base.checks import check
from headrace.base.errors import KafkaError
from headrace.broker.parked import Close, Parked, Reply
from headrace.protocol.compiler import encode
from headrace.protocol.errors import ProtocolError
from headrace.protocol.schema import Message

if TYPE_CHECKING:
    from headrace.broker.context import RequestContext

logger = logging.getLogger(__name__)

#: API key, version and correlation id, which stand before what a client repeats.
_START_SIZE: Final = 8
#: Requests that are remembered on one connection at the same time, or as seen once.
_KNOWN_MAX: Final = 64
#: Learning costs more than it saves where nothing is repeated: a connection gets no more tries.
_TRIES_MAX: Final = 1024
#: Bytes of a request that are remembered, and those before it: its client's id and tags.
_SIZE_MAX: Final = 8 * 1024
_HEADER_MAX: Final = 1024

#: Three offsets that stand together in answers, as no partition has them: see `pieces`.
OFFSET_MARKS = (0x5E81_F3C2_9AD7_B604, 0x47C9_E2B8_81F6_930D, 0x63D4_A9F7_C0B2_8E15)


class Declined:
    """The request has to be served in the ordinary way."""


#: It is not as known.
DECLINED: Final = Declined()
#: It is as known, but something about it needs the ordinary way this time.
NOT_NOW: Final = Declined()


class KnownRequest(ABC):
    """One request that a client repeats on its connection."""

    __slots__ = ("differs_at", "signature", "version")

    def __init__(self, version: int, signature: bytes) -> None:
        self.version = version
        #: The bytes from the client id up to the first that differ.
        self.signature = signature
        self.differs_at = _START_SIZE + len(signature)

    def bears_signature(self, frame: memoryview) -> bool:
        return frame[_START_SIZE : self.differs_at] == self.signature

    @abstractmethod
    def is_repeated_by(self, frame: memoryview) -> bool:
        """Whether a frame has this shape, whatever there is to say about what differs."""

    @abstractmethod
    def check(self, frame: memoryview) -> Any:
        """What a frame that bears the signature wants; None or an error if it is not as known.

        It may also be `NOT_NOW`. Nothing has happened then.
        """

    @abstractmethod
    def serve(self, checked: Any) -> Reply | Parked:
        """Do what `check` found."""


class KnownShape(KnownRequest):
    """A request that is known up to a few numbers."""

    __slots__ = ("_parts", "_split")

    def __init__(self, version: int, start: bytes, parts: list[bytes], letters: str) -> None:
        """`parts` stand before, between and behind the numbers, which have these `letters`."""
        super().__init__(version, start + parts[0])
        self._parts = tuple(parts[1:])
        fields = zip(letters, self._parts, strict=True)
        self._split = struct.Struct(">" + "".join(f"{one}{len(part)}s" for one, part in fields))

    def numbers(self, frame: memoryview) -> tuple[Any, ...] | None:
        """The numbers of a frame that bears the signature, if everything else is as known."""
        if len(frame) != self.differs_at + self._split.size:
            return None
        fields = self._split.unpack_from(frame, self.differs_at)
        return fields[::2] if fields[1::2] == self._parts else None

    def is_repeated_by(self, frame: memoryview) -> bool:
        return (
            len(frame) <= _SIZE_MAX
            and self.bears_signature(frame)
            and self.numbers(frame) is not None
        )


class Learner(ABC):
    """A handler whose requests can be known."""

    @abstractmethod
    def subject(self, request: Any) -> Hashable | None:
        """What a request is about; None if requests like it are not worth knowing."""

    @abstractmethod
    def learn(self, context: RequestContext, request: Any, start: bytes) -> KnownRequest | None:
        """Know a request by what its signature begins with, and by itself.

        `request` is a copy that may be kept.
        """


class KnownRequests:
    """What a connection repeats of one API."""

    __slots__ = ("_end", "_known", "_seen", "_tries")

    def __init__(self) -> None:
        self._known: dict[bytes, KnownRequest] = {}
        #: Where signatures end: all that are known have the same length.
        self._end = 0
        #: Hashes of subjects, which may be long.
        self._seen: set[int] = set()
        self._tries = 0

    def serve(self, version: int, frame: memoryview) -> Reply | Parked | Declined:
        """Serve a frame if it repeats what is known."""
        known = self._known.get(bytes(frame[_START_SIZE : self._end]))
        if known is None or known.version != version:
            return DECLINED
        try:
            checked = known.check(frame)
        except (KafkaError, ProtocolError, IndexError, struct.error):
            checked = None
        except Exception:  # nothing has happened yet: the ordinary way may do better
            logger.exception("a repeated request cannot be checked")
            checked = None
        if checked is None:
            del self._known[known.signature]
            return DECLINED
        if isinstance(checked, Declined):
            return checked
        try:
            return known.serve(checked)
        except Exception:  # the edge of one request
            logger.exception("a repeated request failed")
            return Close("a repeated request failed")

    def is_repeated(self, subject: Hashable) -> bool:
        """Whether to learn a request about this: the first of them may be the only one."""
        seen = hash(subject)
        if seen not in self._seen:
            if len(self._seen) >= _KNOWN_MAX:
                self._seen.clear()
            self._seen.add(seen)
            return False
        if self._tries >= _TRIES_MAX:
            return False
        self._tries += 1
        return True

    def add(self, request: KnownRequest) -> None:
        if request.differs_at != self._end or len(self._known) >= _KNOWN_MAX:
            self._known.clear()
            self._end = request.differs_at
        self._known[request.signature] = request


def start_of(frame: memoryview, position: int) -> bytes | None:
    """What a signature begins with: the header of a frame whose request is at `position`."""
    return bytes(frame[_START_SIZE:position]) if position <= _HEADER_MAX else None


def pieces(message: Message, version: int, *marks: bytes) -> list[bytes]:
    """An encoded message cut at values that mark where others are to stand."""
    rest = encode(message, version)
    found = []
    for mark in marks:
        before, here, rest = rest.partition(mark)
        check(bool(here), f"a mark is missing in {type(message).__name__}")
        found.append(before)
    return [*found, rest]
