"""The demo, shorter than for people."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_demo_accounts_for_every_record_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "examples" / "demo.py"), "--seconds", "2"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), *sys.path]),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "each once, in order" in done.stdout
    assert list(tmp_path.iterdir()) == []
