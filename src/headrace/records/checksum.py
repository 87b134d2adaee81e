"""CRC32C, the checksum over a batch.

The package `crc32c` looks up its own version when imported, which pulls in importlib.metadata and
email: a tenth of a node's start. Only its extension module is wanted, so only that is loaded.
"""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def _load() -> Callable[[bytes | bytearray | memoryview], int]:
    package = PathFinder.find_spec("crc32c")
    if package is not None and package.submodule_search_locations is not None:
        spec = PathFinder.find_spec("_crc32c", package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            compute: Callable[[bytes | bytearray | memoryview], int] = module.crc32c
            return compute
    # An import hook that the path finder does not know (a zipped application, say).
    from crc32c import crc32c as imported

    return imported


crc32c = _load()
