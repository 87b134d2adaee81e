"""The loggers of this process under Kafka's names for levels, for the BROKER_LOGGER resource."""

import logging

_ROOT = "root"
#: Python's levels from the highest on; what lies between two counts as the lower.
_LEVELS = (
    (logging.CRITICAL + 1, "OFF"),
    (logging.CRITICAL, "FATAL"),
    (logging.ERROR, "ERROR"),
    (logging.WARNING, "WARN"),
    (logging.INFO, "INFO"),
    (logging.DEBUG, "DEBUG"),
)


def logger_levels() -> dict[str, str]:
    """Every logger that exists, and the level it logs from."""
    levels = {_ROOT: _level_name(logging.root.getEffectiveLevel())}
    for name, logger in list(logging.root.manager.loggerDict.items()):
        # A placeholder only keeps the name of a parent that nobody asked for.
        if isinstance(logger, logging.Logger):
            levels[name] = _level_name(logger.getEffectiveLevel())
    return levels


def _level_name(level: int) -> str:
    return next((name for lowest, name in _LEVELS if level >= lowest), "TRACE")
