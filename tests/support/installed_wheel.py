"""Headrace as users get it: its wheel, in an environment of its own and away from the checkout."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.tools import REPOSITORY


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment with the wheel and nothing else of ours."""

    wheel: Path
    home: Path
    python: Path

    @property
    def headrace(self) -> str:
        return str(self.python.with_name("headrace"))

    def run(self, *command: str, timeout: float = 120.0) -> str:
        """Run a command away from the checkout; returns what it prints."""
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
        return {**kept, "HOME": str(self.home)}


def install_wheel(base: Path) -> Installed:
    """Build the wheel and install it with the pins of a node's packages, and nothing else."""
    # As `make build`, into a directory of its own.
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(base), str(REPOSITORY)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    (wheel,) = base.glob("*.whl")
    assert len(list(base.glob("*.tar.gz"))) == 1
    home = base / "home"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(base / "venv")], check=True, timeout=120)
    python = base / "venv" / "bin" / "python"
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    pins = REPOSITORY / "requirements" / "core.txt"
    # The index is that of the machine's pip; the pins say what may come from it.
    for arguments in (("--require-hashes", "-r", str(pins)), ("--no-deps", str(wheel))):
        subprocess.run([*pip, *arguments], check=True, timeout=300)
    return Installed(wheel, home, python)
