"""The words of a `.proto` file."""

from __future__ import annotations

import re

from headrace.serde.errors import SchemaError

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>[{}()\[\]<>=;,.:+\-/])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


class Tokens:
    """Reads a file word by word; every failure names the line."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        self._at = 0
        position, line = 0, 1
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise SchemaError(
                    f"The Protobuf schema is invalid: line {line} has {text[position]!r}."
                )
            kind = str(found.lastgroup)
            if kind != "space":
                self._tokens.append((kind, found.group(), line))
            line += found.group().count("\n")
            position = found.end()
        self._last_line = line

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][1] if at < len(self._tokens) else ""

    def take(self) -> str:
        if self.is_done:
            raise self.failure("it ends in the middle")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def skip(self, word: str) -> bool:
        """Step over `word` if it comes next."""
        if self.peek() != word:
            return False
        self._at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.skip(word):
            raise self.failure(f"expected '{word}' instead of '{self.peek()}'")

    def name(self) -> str:
        if self.is_done or self._tokens[self._at][0] != "word":
            raise self.failure(f"expected a name instead of '{self.peek()}'")
        return self.take()

    def dotted(self) -> str:
        """A name with dots in it, perhaps with one in front."""
        name = "." if self.skip(".") else ""
        name += self.name()
        while self.skip("."):
            name += "." + self.name()
        return name

    def integer(self) -> int:
        sign = -1 if self.skip("-") else 1
        word = self.take()
        try:
            return sign * int(word, 8 if re.fullmatch("0[0-7]+", word) else 0)
        except ValueError:
            raise self.failure(f"expected a number instead of '{word}'") from None

    def text(self) -> str:
        if not self.is_text():
            raise self.failure(f"expected a text instead of '{self.peek()}'")
        parts = []
        while self.is_text():
            parts.append(_ESCAPE.sub(_unescape, self.take()[1:-1]))
        return "".join(parts)

    def is_text(self) -> bool:
        return not self.is_done and self._tokens[self._at][0] == "text"

    def skip_block(self) -> None:
        """Step over `{ ... }` and all that is inside."""
        self.expect("{")
        depth = 1
        while depth:
            word = self.take()
            depth += (word == "{") - (word == "}")

    def failure(self, what: str) -> SchemaError:
        at = min(self._at, len(self._tokens) - 1)
        line = self._tokens[at][2] if self._tokens else self._last_line
        return SchemaError(f"The Protobuf schema is invalid: line {line}: {what}.")


def _unescape(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)
