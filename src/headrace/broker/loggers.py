"""The loggers of this process under Kafka's names for levels, for the BROKER_LOGGER resource.

What a client sets holds until the process ends (KIP-412): nothing writes it down.
"""

import logging
from collections.abc import Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.configs import ConfigOperation

_ROOT = "root"
_TRACE = 5
#: Python's levels from the highest on; what lies between two counts as the lower.
_LEVELS = (
    (logging.CRITICAL + 1, "OFF"),
    (logging.CRITICAL, "FATAL"),
    (logging.ERROR, "ERROR"),
    (logging.WARNING, "WARN"),
    (logging.INFO, "INFO"),
    (logging.DEBUG, "DEBUG"),
)
#: What a client may set, which OFF is not.
_SETTABLE = {name: level for level, name in _LEVELS if name != "OFF"} | {"TRACE": _TRACE}

logger = logging.getLogger(__name__)
#: The parent of all of ours, through which they can be set together.
logging.getLogger("headrace")


def logger_levels() -> dict[str, str]:
    """Every logger that exists, and the level it logs from."""
    levels = {_ROOT: _level_name(logging.root.getEffectiveLevel())}
    for name, one in list(logging.root.manager.loggerDict.items()):
        # A placeholder only keeps the name of a parent that nobody asked for.
        if isinstance(one, logging.Logger):
            levels[name] = _level_name(one.getEffectiveLevel())
    return levels


def alter_levels(operations: Mapping[str, tuple[int, str | None]], *, validate_only: bool) -> None:
    """Set or unset levels, all of them; `KafkaError` if one of them cannot be, and none is."""
    known = logger_levels()
    levels = {
        name: _new_level(name, operation, level, known)
        for name, (operation, level) in operations.items()
    }
    if validate_only:
        return
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
        logger.warning("the logger %s logs from %s on", name, logger_levels()[name])


def _new_level(name: str, operation: int, level: str | None, known: Mapping[str, str]) -> int:
    if operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Operation {operation} is not allowed for the BROKER_LOGGER resource",
        )
    if name not in known:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if operation == ConfigOperation.DELETE:
        if name == _ROOT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Removing the log level of the {_ROOT} logger is not allowed",
            )
        return logging.NOTSET  # its parent's
    settable = _SETTABLE.get(level or "")
    if settable is None:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level."
            f" Valid log levels are {', '.join(sorted(_SETTABLE))}",
        )
    return settable


def _level_name(level: int) -> str:
    return next((name for lowest, name in _LEVELS if level >= lowest), "TRACE")
