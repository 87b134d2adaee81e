"""Regular expressions that come from clients: on RE2, in linear time whatever they are.

Linear is not quick: a large expression takes milliseconds for a long text. So what work on an
expression costs is known beforehand, and much of it is cut into steps between which others have
their turn.
"""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError

#: Bytes for a compiled expression and its caches; larger expressions are refused.
_MEMORY_MAX = 256 * 1024
#: What a step may cost, in microseconds by a pessimistic rule: a call, and one microsecond for
#: each instruction of the program per 256 characters (measured with expressions made to be slow).
STEP_COST_MAX = 5_000
_CALL_COST = 2
_CHARACTERS = 256
#: Compiling takes a call, and time for each character and each instruction.
_COMPILE_COST = 20
_CHARACTERS_COMPILED = 8
_INSTRUCTIONS_COMPILED = 2


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
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{what} `{regex}` is not a valid regular expression: {what_re2_says(error)}.",
        ) from error


def what_re2_says(error: Exception) -> str:
    """RE2's own words for what is wrong with an expression, which come as bytes."""
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def compile_cost(regex: str, compiled: Any = None) -> int:
    """Of compiling an expression; without what came of it, of one that was refused."""
    instructions = 0 if compiled is None else compiled.programsize
    return (
        _COMPILE_COST + len(regex) // _CHARACTERS_COMPILED + instructions // _INSTRUCTIONS_COMPILED
    )


def match_cost(compiled: Any, length: int) -> int:
    """Of matching a text of this length against a compiled expression."""
    cost: int = _CALL_COST + compiled.programsize * length // _CHARACTERS
    return cost
