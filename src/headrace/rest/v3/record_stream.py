"""Records of a request body as they arrive: JSON objects one after the other, or in an array.

What ends with a line is parsed in bulk; anything else, such as objects over several lines or
without anything between them, takes a slower way.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

_SPACE = " \t\r\n"


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class BadRecordStream(ValueError):
    """What arrived is no JSON; the values before it are in `values`."""

    def __init__(self, message: str, values: list[Any]) -> None:
        super().__init__(message)
        self.values = values


class RecordStream:
    """Takes chunks, gives values."""

    def __init__(self, record_max_bytes: int) -> None:
        self._rest = b""
        self._record_max_bytes = record_max_bytes
        #: A part of a long object is not parsed again before twice as much of it is there.
        self._try_at = 0

    def feed(self, chunk: bytes) -> list[Any]:
        """The values that are complete with this chunk."""
        data = self._rest + chunk
        end = data.rfind(b"\n") + 1
        if end:
            try:
                values = _lines(data[:end])
            except ValueError:
                pass
            else:
                self._rest = data[end:]
                self._try_at = 0
                return self._limited(values)
        self._rest = data
        if len(data) < self._try_at:
            return []
        return self._limited(self._slowly(is_last=False))

    def finish(self) -> list[Any]:
        """The values in what is left; it must be complete now."""
        if not self._rest.strip():
            return []
        try:
            return _lines(self._rest)
        except ValueError:
            return self._slowly(is_last=True)

    def _limited(self, values: list[Any]) -> list[Any]:
        if len(self._rest) > self._record_max_bytes:
            raise BadRecordStream(
                f"a record is larger than {self._record_max_bytes} bytes.", values
            )
        return values

    def _slowly(self, *, is_last: bool) -> list[Any]:
        try:
            text = self._rest.decode()
        except UnicodeDecodeError as error:
            # A character may be cut in two by the end of a chunk, but no earlier.
            if is_last or error.start < len(self._rest) - 4:
                raise BadRecordStream("the body is not UTF-8.", []) from error
            return []
        values: list[Any] = []
        at = 0
        while True:
            while at < len(text) and text[at] in _SPACE:
                at += 1
            if at == len(text):
                break
            try:
                value, end = _DECODER.raw_decode(text, at)
                # Half of a surrogate pair is a text that nobody can write again.
                json.dumps(value, ensure_ascii=False).encode()
            except (ValueError, RecursionError) as error:
                is_hopeless = text[at] not in "{["
                if is_last or is_hopeless:
                    raise BadRecordStream(f"Error processing JSON: {error}", values) from error
                break
            at = end
            values.extend(value if isinstance(value, list) else [value])
        self._rest = text[at:].encode()
        self._try_at = 2 * len(self._rest)
        return values


def _lines(data: bytes) -> list[Any]:
    """Values of a line each, parsed at once."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    values: list[Any] = orjson.loads(b"[" + b",".join(lines) + b"]")
    if len(values) != len(lines):
        # Something like `1,2` on a line is no value.
        raise ValueError("a line holds more than a value")
    if lines and lines[0].lstrip().startswith(b"["):
        return [one for value in values for one in (value if isinstance(value, list) else [value])]
    return values
