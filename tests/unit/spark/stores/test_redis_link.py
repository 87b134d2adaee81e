"""Urls, packed commands, and replies counted by their lines, as a server on a socket sends them."""

import socket
import threading
from collections.abc import Callable

import pyarrow as pa
import pytest

from headrace.spark.stores.errors import StoreError, StoreUnavailable
from headrace.spark.stores.redis import bytes_of
from headrace.spark.stores.redis_link import Address, RedisLink, packed, parse_url


def answered(answer: bytes, work: Callable[[RedisLink], None]) -> bytes:
    """Do the work with a server that answers this, one byte at a time, and hangs up."""
    ours, theirs = socket.socketpair()
    received = bytearray()

    def serve() -> None:
        with theirs:
            received.extend(theirs.recv(65536))
            for byte in answer:
                theirs.sendall(bytes([byte]))

    server = threading.Thread(target=serve)
    server.start()
    try:
        with ours:
            work(RedisLink(Address("host"), ours))
    finally:
        server.join()
    return bytes(received)


def test_urls() -> None:
    assert parse_url("redis://h") == Address("h", 6379, 0)
    assert parse_url("redis://:p%40ss@h:1/2") == Address("h", 1, 2, None, "p@ss")
    assert parse_url("rediss://u:p@h?ssl_ca_certs=/ca.pem") == Address(
        *("h", 6379, 0, "u", "p"), tls=True, ca_file="/ca.pem"
    )


@pytest.mark.parametrize(
    "url", ["", "h:6379", "http://h", "redis://", "redis://h:x", "redis://h/x"]
)
def test_a_url_that_is_none_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(StoreError, match=r"^A Redis url looks like redis://user:password@host"):
        parse_url(url)


def test_a_command_is_its_words_with_their_lengths_in_bytes() -> None:
    assert packed("SET", "ü", "") == b"*3\r\n$3\r\nSET\r\n$2\r\n\xc3\xbc\r\n$0\r\n\r\n"


def test_replies_are_waited_for_to_the_last() -> None:
    sent = answered(b"+OK\r\n:1\r\n+OK\r\n", lambda link: link.send(b"commands", 3))
    assert sent == b"commands"


@pytest.mark.parametrize("answer", [b"-ERR no.\r\n+OK\r\n+OK\r\n", b"+OK\r\n+OK\r\n-ERR no.\r\n"])
def test_one_refusal_among_many_replies_is_found(answer: bytes) -> None:
    with pytest.raises(StoreError, match=r"^Redis at host:6379: ERR no\.$"):
        answered(answer, lambda link: link.send(b"x", 3))


def test_a_server_that_is_loading_is_worth_another_try() -> None:
    with pytest.raises(StoreUnavailable, match="LOADING Redis is loading"):
        answered(b"-LOADING Redis is loading\r\n", lambda link: link.send(b"x", 1))


def test_a_server_that_hangs_up_before_the_last_reply_has_failed() -> None:
    with pytest.raises(StoreUnavailable, match=r"^Redis at host:6379: it closed the connection\.$"):
        answered(b"+OK\r\n+O", lambda link: link.send(b"x", 2))


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_the_bytes_of_a_column_are_those_of_its_slice(kind: pa.DataType) -> None:
    column = pa.array([b"no", b"a", b"", b"bc", b"no"], kind)
    assert bytes(bytes_of(column)) == b"noabcno"
    assert bytes(bytes_of(column[1:4])) == b"abc"
