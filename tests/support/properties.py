"""Java's properties files, as far as servers and their directories use them."""

from collections.abc import Mapping
from pathlib import Path


def read_properties(path: Path) -> dict[str, str]:
    """The settings of a file; comments and empty lines are skipped."""
    settings = {}
    for line in path.read_text(errors="replace").splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith(("#", "!")):
            key, _, value = stripped.partition("=")
            settings[key.strip()] = value.strip()
    return settings


def write_properties(path: Path, settings: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
