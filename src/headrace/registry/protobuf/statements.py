"""A `.proto` file as a tree of statements: nothing but layout and comments is lost.

The stored text is written from this tree, so options and services stay, whether or not anything
here understands them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.serde.protobuf_tokens import Tokens

_NESTING_MAX = 64
#: Before these no blank is written, and after those none.
_CLOSING = frozenset((";", ",", ")", "]", ">", ".", "<"))
_OPENING = frozenset(("(", "[", ".", "<"))
_BEFORE_TYPES = ("repeated", "optional", "required", "stream", "extend", ",")
_FIRST = ("syntax", "edition", "package", "import", "option")


@dataclass(slots=True)
class Statement:
    """Words up to a semicolon, or words and a block of statements."""

    words: list[str]
    block: list[Statement] | None = None

    @property
    def keyword(self) -> str:
        return self.words[0]


@dataclass(slots=True)
class _Open:
    words: list[str] = field(default_factory=list)
    #: How many brackets and braces of values are open.
    depth: int = 0


def read_statements(text: str) -> list[Statement]:
    return _block(Tokens(text), 0)


def layout(statements: list[Statement]) -> str:
    """The text in the one layout that all texts of the same words have."""
    lines: list[str] = []
    before = ""
    for statement in statements:
        theme = statement.keyword if statement.block is None else "{"
        if lines and (theme != before or theme == "{"):
            lines.append("")
        before = theme
        _write(statement, "", lines)
    return "\n".join(lines) + "\n"


def ordered(statements: list[Statement]) -> list[Statement]:
    """The same with everything in one order whose order means nothing.

    Messages stay where they are: records refer to them by their position.
    """
    return [
        Statement(one.words, None if one.block is None else ordered(one.block))
        for one in sorted(statements, key=_rank)
    ]


def _rank(statement: Statement) -> tuple[int, int, list[str]]:
    words = statement.words
    if statement.block is not None:
        return len(_FIRST) + 1, 0, []
    if (words[0] in _FIRST and "=" not in words[1:2]) or words[0] in ("syntax", "edition"):
        return _FIRST.index(words[0]), 0, words
    number = _number(words)
    return len(_FIRST), number, words if number < 0 else []


def _number(words: list[str]) -> int:
    """The number of a field or a value, -1 if it is neither."""
    if "=" in words:
        after = words[words.index("=") + 1 :]
        sign = after[:1] == ["-"]
        digits = after[sign] if len(after) > sign else ""
        if digits.isdecimal():
            return -int(digits) if sign else int(digits)
    return -1


def _block(tokens: Tokens, depth: int) -> list[Statement]:
    if depth > _NESTING_MAX:
        raise tokens.failure(f"blocks are nested deeper than {_NESTING_MAX} levels")
    statements: list[Statement] = []
    open_ = _Open()
    while not tokens.is_done:
        word = tokens.take()
        if word == "}" and not open_.depth:
            if depth == 0 or open_.words:
                raise tokens.failure("there is a '}' too many")
            return statements
        if word == ";" and not open_.depth:
            if open_.words:
                statements.append(Statement(open_.words))
            open_ = _Open()
        elif word == "{" and not open_.depth and open_.words[-1:] != ["="]:
            block = _block(tokens, depth + 1)
            statements.append(Statement(open_.words, block))
            open_ = _Open()
        else:
            open_.depth += (word in "[{") - (word in "]}")
            open_.words.append(word)
    if depth or open_.words:
        raise tokens.failure("it ends in the middle")
    return statements


def _write(statement: Statement, indent: str, lines: list[str]) -> None:
    line = indent + _joined(statement.words)
    if statement.block is None:
        lines.append(line + ";")
    elif not statement.block:
        lines.append(line + " {}")
    else:
        lines.append(line + " {")
        for one in statement.block:
            _write(one, indent + "  ", lines)
        lines.append(indent + "}")


def _joined(words: list[str]) -> str:
    text = ""
    before = ""
    for word in words:
        glued = not text or word in _CLOSING or before in _OPENING
        if word == "." and before in _BEFORE_TYPES:
            # A full name begins with a dot.
            glued = not text
        if word == "(" and before not in ("returns", "=", ",", "option", ""):
            glued = True
        text += word if glued else f" {word}"
        before = word
    return text
