"""Files and buffers through a socket whose other end reads when it likes."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.log.file_slice import FileSlice
from headrace.log.open_files import OpenFile, OpenFiles
from headrace.protocol.compiler import Buffer
from headrace.server.file_sender import IS_AVAILABLE, FileSender

pytestmark = pytest.mark.skipif(not IS_AVAILABLE, reason="sendfile is used on Linux only")

#: Far more than a socket takes at once.
_SIZE = 8 * 1024 * 1024
_CONTENT = b"".join(number.to_bytes(4, "big") for number in range(_SIZE // 4))


class Sending:
    """One sender, the reading end of its socket, and what it said at its end."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "00000000000000000000.log"
        self.path.write_bytes(_CONTENT)
        self._files = OpenFiles(4)
        self._file = OpenFile(str(self.path))
        self._near, self.far = socket.socketpair()
        self.said: list[OSError | None] = []
        self._has_ended = asyncio.Event()
        self.progress = 0
        loop = asyncio.get_running_loop()
        self.sender = FileSender(loop, self._near.fileno(), self._note_progress)

    def _note_progress(self) -> None:
        self.progress += 1

    def send(self, *chunks: Buffer | FileSlice) -> None:
        self._has_ended.clear()
        self.sender.send(list(chunks), self._note_end)

    def _note_end(self, error: OSError | None) -> None:
        self.said.append(error)
        self._has_ended.set()

    async def ended(self) -> OSError | None:
        await self._has_ended.wait()
        return self.said[-1]

    def slice(self, position: int, size: int) -> FileSlice:
        return FileSlice(self._files, self._file, position, size)

    async def read(self, size: int) -> bytes:
        received = bytearray()
        self.far.setblocking(False)
        while len(received) < size:
            part = await asyncio.get_running_loop().sock_recv(self.far, 100_000)
            if not part:
                break
            received += part
        return bytes(received)

    def close(self) -> None:
        self.sender.close()
        self._near.close()
        self.far.close()


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_what_does_not_fit_into_the_socket_follows_as_it_is_read(
    tmp_path: Path, loop: asyncio.Runner
) -> None:
    async def send() -> None:
        sending = Sending(tmp_path)
        half = _SIZE // 2
        first, second = sending.slice(0, half), sending.slice(half, half)
        sending.send(b"head", first, b"between", second, b"tail")
        assert sending.said == []  # nobody has read anything yet
        expected = b"head" + _CONTENT[:half] + b"between" + _CONTENT[half:] + b"tail"
        assert await sending.read(len(expected)) == expected
        assert sending.said == [None]
        assert sending.progress > 0
        sending.send(b"again")
        assert await sending.read(5) == b"again"
        assert sending.said == [None, None]
        sending.close()

    loop.run(send())


def test_a_file_that_became_shorter_is_an_error_and_not_an_endless_wait(
    tmp_path: Path, loop: asyncio.Runner
) -> None:
    async def send() -> None:
        sending = Sending(tmp_path)
        piece = sending.slice(0, 5_000)
        os.truncate(sending.path, 2_000)
        sending.send(piece)
        assert await sending.read(2_000) == _CONTENT[:2_000]
        assert isinstance(await sending.ended(), OSError)
        sending.close()

    loop.run(send())


def test_a_client_that_goes_away_ends_it(tmp_path: Path, loop: asyncio.Runner) -> None:
    async def send() -> None:
        sending = Sending(tmp_path)
        sending.send(sending.slice(0, _SIZE))
        sending.far.close()
        assert isinstance(await sending.ended(), OSError)
        sending.close()

    loop.run(send())


def test_nothing_is_said_after_a_close(tmp_path: Path, loop: asyncio.Runner) -> None:
    async def send() -> None:
        sending = Sending(tmp_path)
        sending.send(sending.slice(0, _SIZE))
        sending.close()
        await asyncio.sleep(0)
        assert sending.said == []

    loop.run(send())
