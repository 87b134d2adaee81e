"""A connection to Redis that sends many commands at once and counts the replies.

Every reply to the commands of `redis_commands` is one line, so that counting lines is enough, and
looking for one that begins with `-`, an error. redis-cli --pipe works the same way.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from headrace.spark.stores.errors import StoreError, StoreUnavailable

_SECONDS = 30.0
_RECEIVE = 1 << 16
# What Redis says while it will soon be able to.
_PASSING = {"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "BUSY", "OOM"}


@dataclass(frozen=True, slots=True)
class Address:
    """What a url says: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`, with TLS `rediss://`."""

    host: str
    port: int = 6379
    database: int = 0
    user: str | None = None
    password: str | None = None
    tls: bool = False
    ca_file: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_url(url: str) -> Address:
    try:
        parts = urlsplit(url)
        port = parts.port or 6379
        database = int(parts.path.strip("/") or 0)
    except ValueError:
        parts, port, database = urlsplit(""), 0, 0
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        raise StoreError("A Redis url looks like redis://user:password@host:6379/0, or rediss://.")
    return Address(
        host=parts.hostname,
        port=port,
        database=database,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        tls=parts.scheme == "rediss",
        ca_file=parse_qs(parts.query).get("ssl_ca_certs", [None])[0],
    )


class RedisLink:
    """One connection, ready for commands."""

    def __init__(self, address: Address, link: socket.socket) -> None:
        self._address = address
        self._link = link

    def send(self, commands: bytes | memoryview, replies: int) -> None:
        """Send all, then see that every one was done; the first refusal is raised."""
        try:
            self._link.sendall(commands)
            received = self._receive(replies)
        except OSError as error:
            raise StoreUnavailable(f"Redis at {self._address}: {_reason(error)}.") from None
        refused = 0 if received.startswith(b"-") else received.find(b"\n-") + 1
        if refused or received.startswith(b"-"):
            line = received[refused + 1 : received.index(b"\r\n", refused)].decode()
            kind = StoreUnavailable if line.partition(" ")[0] in _PASSING else StoreError
            raise kind(f"Redis at {self._address}: {line.rstrip('.')}.")

    def _receive(self, replies: int) -> bytes:
        received = bytearray()
        missing = replies
        while missing > 0:
            chunk = self._link.recv(_RECEIVE)
            if not chunk:
                raise ConnectionResetError("it closed the connection")
            received += chunk
            missing -= chunk.count(b"\n")
        return bytes(received)


@contextlib.contextmanager
def redis_link(url: str) -> Iterator[RedisLink]:
    """A connection that has said who it is and which database it wants."""
    address = parse_url(url)
    try:
        link = socket.create_connection((address.host, address.port), timeout=_SECONDS)
        if address.tls:
            context = ssl.create_default_context(cafile=address.ca_file)
            link = context.wrap_socket(link, server_hostname=address.host)
    except OSError as error:
        raise StoreUnavailable(f"Redis at {address}: {_reason(error)}.") from None
    with link:
        ready = RedisLink(address, link)
        if address.password is not None:
            user = () if address.user is None else (address.user,)
            ready.send(packed("AUTH", *user, address.password), 1)
        if address.database:
            ready.send(packed("SELECT", str(address.database)), 1)
        yield ready


def packed(*words: str) -> bytes:
    """A command as Redis takes it."""
    encoded = [word.encode() for word in words]
    parts = [b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded]
    return b"*%d\r\n%b" % (len(parts), b"".join(parts))


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).rstrip(".")
