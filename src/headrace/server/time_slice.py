"""Asks Linux to run the node in short turns, and therefore soon after it is woken.

A node is one thread that mostly sleeps and then has a fraction of a millisecond of work. On a
laptop or in CI it shares few cores with its clients, whose many threads each count as much as it
does. Since 6.12 the scheduler serves who asks for a shorter slice sooner, with no larger share of
the processor and without any privilege. Older kernels do not heed the request.
"""

from __future__ import annotations

import platform
import sys
from struct import Struct

#: The shortest that the kernel grants.
_SLICE_NS = 100_000
#: The numbers of sched_setattr and sched_getattr, for which most C libraries have no names.
_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}
#: The kernel's `sched_attr`: size, policy, flags, nice value, priority, slice, deadline, period.
_ATTRIBUTES = Struct("=IIQiIQQQ")
_SCHED_OTHER = 0
#: Threads and helper processes work for long, and want ordinary turns.
_RESET_ON_FORK = 0x01
_CALLING_THREAD = 0


def shorten_time_slice() -> None:
    """For the calling thread, unless somebody has chosen another policy for it."""
    attributes = _attributes()
    if attributes is None or attributes[1] != _SCHED_OTHER:
        return
    size, policy, flags, nice, priority, _, deadline, period = attributes
    flags |= _RESET_ON_FORK
    wanted = _ATTRIBUTES.pack(size, policy, flags, nice, priority, _SLICE_NS, deadline, period)
    _system_call(_CALLS[platform.machine()][0], bytearray(wanted))


def time_slice_ns() -> int:
    """The calling thread's; 0 where the kernel does not tell."""
    attributes = _attributes()
    return 0 if attributes is None else attributes[5]


def _attributes() -> tuple[int, ...] | None:
    """How the calling thread is scheduled, where that can be asked."""
    if not sys.platform.startswith("linux") or platform.machine() not in _CALLS:
        return None
    attributes = bytearray(_ATTRIBUTES.size)
    if not _system_call(_CALLS[platform.machine()][1], attributes, _ATTRIBUTES.size):
        return None
    return _ATTRIBUTES.unpack(attributes)


def _system_call(number: int, attributes: bytearray, *others: int) -> bool:
    """Whether the kernel did it: a sandbox may refuse."""
    import ctypes

    system_call = getattr(ctypes.CDLL(None), "syscall", None)
    if system_call is None:
        return False
    memory = (ctypes.c_char * len(attributes)).from_buffer(attributes)
    no_flags = 0
    arguments = (_CALLING_THREAD, memory, *others, no_flags)
    return bool(system_call(number, *arguments) == 0)
