"""Log lines: plain text for people, or one JSON object a line for machines."""

from __future__ import annotations

import json
import logging
import re
import sys
import time

#: C0, DEL and C1, with which a text could colour, hide or overwrite what is on a terminal.
_CONTROLS = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class JsonFormatter(logging.Formatter):
    """One object a line; JSON escapes line breaks, so no record can forge another."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": _timestamp(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class TextFormatter(logging.Formatter):
    """Time, level, message; what would move a terminal's cursor is shown, not done.

    Names and texts of clients are in many messages, and in what exceptions say. Lines of a
    traceback begin with spaces, so that none of them passes for a record of its own.
    """

    def format(self, record: logging.LogRecord) -> str:
        message = _shown(record.getMessage())
        line = f"{_timestamp(record.created)} {record.levelname:<7} {message} ({record.name})"
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n  {_shown(part)}" for part in trace.split("\n"))
        return line


def _shown(text: str) -> str:
    return _CONTROLS.sub(lambda found: _ESCAPES.get(found[0], f"\\x{ord(found[0]):02x}"), text)


def _timestamp(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds * 1000) % 1000:03d}Z"


def configure_logging(level: str, *, as_json: bool = False) -> None:
    """Log to standard error from now on; ValueError for a level that there is not."""
    if level.upper() not in logging.getLevelNamesMapping():
        raise ValueError(f"There is no log level '{level}': it is DEBUG, INFO, WARNING or ERROR.")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
