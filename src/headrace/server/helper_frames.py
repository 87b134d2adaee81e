"""How a node and its helper processes talk: pickled values behind their length.

Pickle is safe here and only here: both ends of the pipe are ours, parent and child.
"""

from __future__ import annotations

import os
import pickle
import struct
from typing import IO, Any

from headrace.base.child_python import child_command

LENGTH = struct.Struct(">Q")


def command() -> tuple[str, ...]:
    """What starts a helper of this process; it leaves when this process is gone."""
    return child_command("headrace.server.helper_main", str(os.getpid()))


def pack(value: Any) -> bytes:
    data = pickle.dumps(value)
    return LENGTH.pack(len(data)) + data


def unpack(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301 - see above


def read_frame(source: IO[bytes]) -> Any:
    """The next value; EOFError at the end of the input."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    return unpack(source.read(LENGTH.unpack(head)[0]))


def write_frame(sink: IO[bytes], value: Any) -> None:
    sink.write(pack(value))
    sink.flush()
