"""Regular expressions that come from clients: on RE2, in linear time whatever they are."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError

#: Bytes for a compiled expression and its caches; larger expressions are refused.
_MEMORY_MAX = 256 * 1024


def compile_regex(regex: str, what: str) -> Any:
    """A compiled expression; `what` is its name in the error for one that cannot be used."""
    try:
        # Imported at first use: most nodes never see a regular expression.
        import re2
    except ImportError as error:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{what} needs the package google-re2 on the broker.",
        ) from error
    options = re2.Options()
    options.max_mem = _MEMORY_MAX
    options.never_capture = True
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{what} `{regex}` is not a valid regular expression: {text}.",
        ) from error
