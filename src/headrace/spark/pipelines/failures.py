"""Why a query failed, in one sentence: dug out of the layers that Spark wraps around a cause.

A failure that passes (a broker that is away, a lost executor) is told apart from one that the next
attempt would meet again.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import headrace
from headrace.base.errors import RETRIABLE, ErrorCode

_TRACE = "Traceback (most recent call last):"
_DETAILS = "=== Streaming Query ==="
_WRAPPERS = re.compile(r"^\[STREAM_FAILED\].*?terminated with exception: ", re.DOTALL)
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+")
_CONDITION = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_JAVA_CLASS = re.compile(r"^(?:[a-z_]\w*\.)+[A-Z]\w*(?:Exception|Error): ")
_PYTHON_ERROR = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?$", re.DOTALL)
_CHAINED = re.compile(r"\n\n(?:During handling of the above|The above exception was)[^\n]*\n")
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
_CALL = re.compile(r"^An error occurred while calling o\d+\.\w+\.\s*:\s*")
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}lib{os.sep}python", "pyspark.zip")
_OURS = os.path.join(os.path.dirname(headrace.__file__), "")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

#: Waiting helps: somebody is away, or moves.
_PASSING = re.compile(
    r"\b(?:ConnectionFailedError|UnreachableError|ConnectionRefusedError|ConnectionResetError"
    r"|ConnectionAbortedError|ConnectionError|BrokenPipeError|TimeoutError|OperationalError"
    r"|InterfaceError|StoreUnavailable|ExecutorLostFailure|FetchFailed"
    r"|[Cc]onnection refused|[Cc]onnection reset|Broker transport failure|timed out"
    # Our own sentences, where another error was made of the client's.
    r"|No broker can be reached at|did not answer in time|closed the connection"
    r"|broke the connection|could not be written to"
    r"|RegistryUnavailableError|The schema registry does not answer"
    r"|Illegal size \d+ of collection"  # Spark changed a map that another query serialized
    r"|Python worker failed to connect back"  # it had ten seconds, on a machine that is busy
    + "".join(
        f"|{code.name}"
        for code in sorted(RETRIABLE - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
        if code.name
    )
    + r")\b"
)
_FULL = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)

#: Spark's words for a query that does not fit its checkpoint, and ours.
_CHANGES = (
    (re.compile(r"STATE_STORE_KEY_SCHEMA"), "what it groups, joins or deduplicates by has changed"),
    (re.compile(r"STATE_STORE_VALUE_SCHEMA"), "what it keeps for each key has changed"),
    (re.compile(r"STATEFUL_OPERATOR"), "it groups, joins or deduplicates elsewhere than before"),
    (
        re.compile(
            r"There are \[(\d+)\] sources in the checkpoint offsets and now there are \[(\d+)\]"
        ),
        "the number of its sources was {0} and is {1} now",
    ),
    (re.compile(r"STATE_STORE_\w*(?:SCHEMA|COLUMN|FAMILY|EVOLUTION)\w*"), "its state has changed"),
    (re.compile(r"STATE_STORE_PROVIDER\w*MISMATCH|INVALID_CHECKPOINT"), "its state has changed"),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a query ended."""

    sentence: str
    #: Whether the same query may do better in a while.
    passes: bool = False
    #: Whether its checkpoint does not fit it any more.
    is_change: bool = False


def changed(name: str, what: str) -> Failure:
    """A query that is not the one its checkpoint was written by."""
    return Failure(
        f"Pipeline {name} does not fit its checkpoint any more: {what}. Undo the change, or drop"
        f" its state and start where its group stands with `headrace pipelines reset {name}"
        " --state`.",
        is_change=True,
    )


def may_pass(sentence: str) -> bool:
    """Whether somebody is away, going by what was said."""
    return _PASSING.search(sentence) is not None


def explain(text: str, name: str = "it") -> Failure:
    """The failure behind the text of Spark's exception."""
    plain = _ESCAPE.sub("", text).split(_DETAILS, 1)[0]
    plain = _WRAPPERS.sub("", plain)
    if _FULL.search(plain):
        return Failure(
            "The disk below its checkpoint is full: make room, then start it again; it goes on"
            " where it was."
        )
    for pattern, meaning in _CHANGES:
        if match := pattern.search(plain):
            return changed(name, meaning.format(*match.groups()))
    if _TRACE in plain:
        return _from_python(_told_trace(plain.split(_TRACE)[1:]))
    sentence = _first_sentence(plain)
    return Failure(sentence, passes=_PASSING.search(plain) is not None)


def _told_trace(traces: list[str]) -> str:
    """Of chained errors the last; but one of ours says more than what PySpark made of it."""
    ours = [trace for trace in traces if re.search(r"^headrace\.[\w.]+: ", trace, re.MULTILINE)]
    return (ours or traces)[-1]


def _from_python(trace: str) -> Failure:
    """The last line of a Python traceback; the place of it, if it is in a file of the user's."""
    lines = _SQLSTATE.sub("", _CHAINED.split(trace)[0]).splitlines()
    at = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), None)
    if at is None:
        return Failure("A Python function failed without saying why.")
    error = "\n".join(lines[at:]).strip()
    match = _PYTHON_ERROR.match(error)
    kind, text = (match["type"], match["text"] or "") if match else ("", error)
    passes = _PASSING.search(error) is not None
    if kind.startswith("headrace."):
        # Our own sentences name what is wrong; a class name adds nothing.
        return Failure(_one_line(text) or kind.rpartition(".")[2], passes)
    sentence = _one_line(f"{kind.rpartition('.')[2]}: {text}" if text else kind)
    place = _users_place("\n".join(lines[:at]))
    return Failure(f"{sentence} ({place})" if place else sentence, passes)


def _users_place(frames: str) -> str:
    """The innermost line that is neither a library's nor ours."""
    found = ""
    for match in _FRAME.finditer(frames):
        path = match["path"]
        if any(mark in path for mark in _LIBRARIES) or path.startswith((_OURS, "<")):
            continue
        following = frames[match.end() :].splitlines()
        source = following[1].strip() if len(following) > 1 else ""
        where = f"{os.path.basename(path)}, line {match['line']}"
        found = f"{where}: {source}" if source else where
    return found


def _first_sentence(text: str) -> str:
    """Without Spark's codes and Java's class names, and without plan and stack."""
    plain = _CALL.sub("", _SQLSTATE.sub("", text).strip())
    for wrapping in (_CONDITION, _JAVA_CLASS, _CONDITION):
        plain = wrapping.sub("", plain)
    for ending in ("\n\tat ", "\n\n", ";\n"):
        plain = plain.partition(ending)[0]
    return _one_line(plain) or "It failed without a word."


def _one_line(text: str) -> str:
    return " ".join(text.split())
