"""Requests that a client repeats: what they begin with is known, and what differs is little.

A producer that waits for each record, and a consumer at the end of a log, say the same thing
again and again: the same topic, partition and limits, with other records or another offset. Once
such a request has come twice, the next one is recognised by its bytes and served without being
decoded, and its answer is put together from one that was encoded before. Everything that may have
changed since is looked at again, and whatever is unusual about a request leaves it to the ordinary
way, which begins from the start: so nothing may have happened by then.
"""

from __future__ import annotations

import logging
import struct
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final

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
#: Learning costs more than it saves where nothing is repeated: a connection gets no further.
_LEARNED_MAX: Final = 1024


class Declined:
    """Not as known: the request has to be served in the ordinary way."""


DECLINED: Final = Declined()


class KnownRequest(ABC):
    """One request that a client repeats on its connection."""

    __slots__ = ("differs_at", "signature", "version")

    def __init__(self, version: int, signature: bytes) -> None:
        self.version = version
        #: The bytes from the client id up to the first that differ.
        self.signature = signature
        self.differs_at = _START_SIZE + len(signature)

    @abstractmethod
    def serve(self, frame: memoryview) -> Reply | Parked | Declined:
        """Serve a frame that bears the signature. A KafkaError means the same as `DECLINED`."""


class Learner(ABC):
    """A handler whose requests can be known."""

    @abstractmethod
    def subject(self, request: Any) -> Hashable | None:
        """What a request is about; None if requests like it are not worth knowing."""

    @abstractmethod
    def learn(
        self, context: RequestContext, request: Any, frame: memoryview, position: int
    ) -> KnownRequest | None:
        """Know a request by its frame, in which it begins at `position`.

        `request` is a copy that may be kept.
        """


class KnownRequests:
    """What a connection repeats of one API."""

    __slots__ = ("_end", "_known", "_learned", "_seen")

    def __init__(self) -> None:
        self._known: dict[bytes, KnownRequest] = {}
        #: Where signatures end: all that are known have the same length.
        self._end = 0
        self._seen: set[Hashable] = set()
        self._learned = 0

    def serve(self, version: int, frame: memoryview) -> Reply | Parked | Declined:
        """Serve a frame if it repeats what is known."""
        known = self._known.get(bytes(frame[_START_SIZE : self._end]))
        if known is None or known.version != version:
            return DECLINED
        try:
            reply = known.serve(frame)
        except (KafkaError, ProtocolError, IndexError, struct.error):
            reply = DECLINED
        except Exception:  # the edge of one request
            logger.exception("a repeated request failed")
            return Close("a repeated request failed")
        if reply is DECLINED:
            del self._known[known.signature]
        return reply

    def is_repeated(self, subject: Hashable) -> bool:
        """Whether to learn a request about this: the first of them may be the only one."""
        if subject not in self._seen:
            if len(self._seen) >= _KNOWN_MAX:
                self._seen.clear()
            self._seen.add(subject)
            return False
        return self._learned < _LEARNED_MAX

    def add(self, request: KnownRequest) -> None:
        self._learned += 1
        if request.differs_at != self._end or len(self._known) >= _KNOWN_MAX:
            self._known.clear()
            self._end = request.differs_at
        self._known[request.signature] = request


def start_of(frame: memoryview, position: int) -> bytes:
    """What a signature begins with: the header of a frame whose request is at `position`."""
    return bytes(frame[_START_SIZE:position])


def pieces(message: Message, version: int, *marks: bytes) -> list[bytes]:
    """An encoded message cut at values that mark where others are to stand."""
    rest = encode(message, version)
    found = []
    for mark in marks:
        before, _, rest = rest.partition(mark)
        found.append(before)
    return [*found, rest]
