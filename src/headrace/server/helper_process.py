"""A helper process for work that would hold the interpreter lock: compaction, deep looks, scans.

It is started at the first job, answers one job at a time over its pipes, and ends when it has had
nothing to do for a while or when this process is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from headrace.server.helper_frames import LENGTH, command, pack, unpack

logger = logging.getLogger(__name__)

_IDLE_S = 60.0


class HelperDiedError(Exception):
    """The process ended before it answered."""


class HelperNotStartedError(HelperDiedError):
    """There was none: the system has no descriptors, memory or process ids left for one."""


class HelperProcess:
    """Runs the named jobs of `helper_main.JOBS`, in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def run(self, job: str, argument: Any) -> Any:
        """The job's result; an exception that it raised is raised here."""
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                kind, value = await self._exchange(job, argument)
            except HelperNotStartedError:
                raise
            except (OSError, asyncio.IncompleteReadError) as error:
                await self._end()
                raise HelperDiedError(f"the {self._name} process ended unexpectedly") from error
            except asyncio.CancelledError:
                await self._end()
                raise
            self._idle = asyncio.get_running_loop().call_later(_IDLE_S, self._end_soon)
        if kind == "error":
            raise value
        return value

    async def _exchange(self, job: str, argument: Any) -> tuple[str, Any]:
        process = self._process
        if not self._is_closed and (process is None or process.returncode is not None):
            process = self._process = await self._start()
        if process is None or self._is_closed:
            raise BrokenPipeError  # the node stops: nobody wants another process now
        assert process.stdin is not None  # noqa: S101 - it has pipes
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(pack((job, argument)))
        await process.stdin.drain()
        (size,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
        answer: tuple[str, Any] = unpack(await process.stdout.readexactly(size))
        return answer

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *command(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or error
            raise HelperNotStartedError(
                f"the {self._name} process cannot be started: {reason}"
            ) from error

    def _end_soon(self) -> None:
        if not self._turn.locked() and self._process is not None:
            assert self._process.stdin is not None  # noqa: S101 - it has pipes
            # At the end of its input the helper leaves.
            self._process.stdin.close()
            self._process = None

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def close(self) -> None:
        """End the process now and for good; a job that is running or waits is lost."""
        self._is_closed = True
        await self._end()
        async with self._turn:  # whoever was just starting a process sees that it is over
            await self._end()
        if self._idle is not None:
            self._idle.cancel()
