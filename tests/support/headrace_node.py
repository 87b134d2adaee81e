"""A Headrace node as a child process, run the way a user runs it: through the command line.

with HeadraceNode(tmp_path / "data") as node:
    Producer({"bootstrap.servers": node.bootstrap})
"""

import subprocess
import sys

from tests.support.node import Node

HEADRACE = (sys.executable, "-m", "headrace.cli.main")


def headrace(
    *args: str, stdin: str | None = None, timeout: float = 30.0, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run `headrace ARGS` to its end; unless `check` is off, a failure raises with its output."""
    done = subprocess.run(
        [*HEADRACE, *args],
        input="" if stdin is None else stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(
            f"headrace {' '.join(args)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
    return done


class HeadraceNode(Node):
    """`headrace server start server.properties`."""

    kind = "headrace"

    def format_directory(self, cluster_id: str | None) -> None:
        if cluster_id is None:
            cluster_id = headrace("storage", "random-uuid").stdout.strip()
        headrace("storage", "format", "-t", cluster_id, "-c", str(self.properties))

    def command(self) -> list[str]:
        return [*HEADRACE, "server", "start", str(self.properties)]
