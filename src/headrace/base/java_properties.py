"""The text of Java's `.properties` files, which configure everything in Kafka's world.

The rules are those of `java.util.Properties`: `=`, `:` or a blank after the name, `#` and `!` for
comments, a backslash before a line end to go on with the next line, `\\uXXXX` for characters.
"""

import re
from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def decode_properties(data: bytes) -> str:
    """A file's text: UTF-8 if it can be that, or else Latin-1, which is what Java assumes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_properties(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, name and value of each entry, in the order of the text."""
    for number, line in _logical_lines(text):
        name, value = _split(line)
        yield number, _unescape(name), _unescape(value)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined; comments and blank lines left out."""
    collected, start = "", 0
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if not start:
            if not line or line[0] in "#!":
                continue
            start = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            collected += line[:-1]
            start = start if collected else 0  # a lone backslash begins nothing
            continue
        yield start, collected + line
        collected, start = "", 0
    if start:
        yield start, collected


def _split(line: str) -> tuple[str, str]:
    """Name and value: apart at the first `=`, `:` or blank that no backslash precedes."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANKS)
    if rest.startswith(("=", ":")):
        rest = rest[1:].lstrip(_BLANKS)
    return line[:end], rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts, position = [], 0
    while (slash := text.find("\\", position)) >= 0:
        parts.append(text[position:slash])
        kind = text[slash + 1 : slash + 2]
        position = slash + 2
        if kind == "u":
            digits = text[position : position + 4]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                raise KafkaError(ErrorCode.INVALID_CONFIG, "Malformed \\uxxxx encoding.")
            parts.append(chr(int(digits, 16)))
            position += 4
        else:
            parts.append(_ESCAPES.get(kind, kind))
    parts.append(text[position:])
    return "".join(parts)
