"""Waiting: until a broker answers and counts itself among the brokers, or until anything holds."""

import contextlib
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

# Metadata version 1, correlation id 7, null client id, no topics.
_METADATA_V1 = struct.pack(">hhihi", 3, 1, 7, -1, 0)


def wait_until_answering(
    process: subprocess.Popen[bytes], port: int, *, output: Path, timeout: float = 60.0
) -> float:
    """Wait for the first Metadata reply that names a broker; returns the seconds it took."""
    started = time.monotonic()
    while time.monotonic() - started < timeout:
        if process.poll() is not None:
            raise AssertionError(
                f"the server ended with {process.returncode} before it was ready\n{tail(output)}"
            )
        with contextlib.suppress(OSError):
            if count_brokers(port, timeout=timeout) > 0:
                return time.monotonic() - started
        time.sleep(0.005)
    raise AssertionError(f"the server was not ready within {timeout} s\n{tail(output)}")


def eventually(condition: Callable[[], bool], *, timeout: float = 30.0) -> None:
    """Wait until the condition holds; a test that waits for long is a test that fails."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {timeout} s")
        time.sleep(0.01)


def count_brokers(port: int, timeout: float = 10.0) -> int:
    """Ask the broker on this port how many brokers it knows."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(struct.pack(">i", len(_METADATA_V1)) + _METADATA_V1)
        (size,) = struct.unpack(">i", _read_exactly(connection, 4))
        reply = _read_exactly(connection, size)
    correlation_id, brokers = struct.unpack_from(">ii", reply)
    if correlation_id != 7:
        raise AssertionError(f"expected correlation id 7, got {correlation_id}")
    return int(brokers)


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionError("the server closed the connection")
        received += chunk
    return bytes(received)


def tail(output: Path, lines: int = 60) -> str:
    """The end of a server's output, for the message of a failed test."""
    try:
        return "\n".join(output.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no output)"
