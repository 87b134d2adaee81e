"""How this process starts another Python of Headrace's: a node's helpers, services, embedded nodes.

`-m` and `-c` alone put the working directory first on the path of modules: a `queue.py` of the
user's there would be run instead of Python's own, so `-P` is always given. What it hides as well
is a Headrace that is found through the working directory only, as in a checkout that nobody has
installed; so each child is told where its parent has the package.
"""

from __future__ import annotations

import os
import sys

import headrace

# Not by PYTHONPATH: that comes before Python's own modules, and a package may lie beside others
# that bear their names. So the place of the package goes right behind Python's own, before what is
# installed; and since PYTHONPATH may name another Headrace, ours is imported first of all.
PROGRAM = """\
import os, sys
root, module = sys.argv[1:3]
del sys.argv[1:3]
if root not in sys.path:
    sys.path.insert(0, root)
    import headrace
    del sys.path[0]
    library = os.path.dirname(os.__file__)
    own = [at for at, path in enumerate(sys.path) if path in (library, library + "/lib-dynload")]
    sys.path.insert(max(own, default=len(sys.path)) + 1, root)
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def child_command(module: str, *arguments: str) -> tuple[str, ...]:
    """What runs a module of ours as a program, in a process of its own."""
    return (sys.executable, "-P", "-c", PROGRAM, _package_root(), module, *arguments)


def _package_root() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(headrace.__file__)))
