"""Java's `.properties` files: what every Kafka tool takes for its configuration."""

from __future__ import annotations

from collections.abc import Iterator

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"


def read_properties(path: str) -> dict[str, str]:
    """The settings of a file; `OSError` if it cannot be read."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return parse_properties(data.decode())
    except UnicodeDecodeError:
        return parse_properties(data.decode("latin-1"))  # what Java assumes


def parse_properties(text: str) -> dict[str, str]:
    """Later lines win over earlier ones with the same name."""
    return dict(_split(line) for line in _logical_lines(text))


def parse_assignments(pairs: list[str]) -> dict[str, str]:
    """`name=value` arguments as the tools take them; `ValueError` for one without `=`."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"Invalid command line properties: {pair}")
        settings[name] = value
    return settings


def _logical_lines(text: str) -> Iterator[str]:
    """Lines joined where one ends in an odd number of backslashes; comments and blanks left out."""
    pending = ""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = line.lstrip(_BLANK)
        if not pending and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _split(line: str) -> tuple[str, str]:
    """Name and value: the name ends at the first bare `=`, `:` or blank."""
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANK:
        position += 2 if line[position] == "\\" else 1
    rest = line[position:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return _unescape(line[:position]), _unescape(rest)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\" and position < len(text):
            character = text[position]
            position += 1
            if character == "u":
                out.append(chr(int(text[position : position + 4], 16)))
                position += 4
                continue
            character = _ESCAPES.get(character, character)
        out.append(character)
    return "".join(out)
