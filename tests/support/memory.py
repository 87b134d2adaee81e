"""How much memory a process and the helpers it started had at most."""

from pathlib import Path


def forget_peak(pid: int) -> int:
    """Measure peaks from now on; returns what is resident now, in bytes."""
    total = 0
    for one in (pid, *_descendants(pid)):
        try:
            Path(f"/proc/{one}/clear_refs").write_text("5")
        except OSError:  # It ended meanwhile.
            continue
        total += _field(one, "VmRSS")
    return total


def peak_bytes(pid: int) -> int:
    """The sum of the peaks of a process and its descendants since `forget_peak`."""
    return sum(_field(one, "VmHWM") for one in (pid, *_descendants(pid)))


def _field(pid: int, name: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def _descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    found = [int(child) for child in children]
    return found + [one for child in found for one in _descendants(child)]
