"""Lines of text as records: what Kafka's console producer calls the line reader.

Works on bytes, so that what is not UTF-8 arrives as it was typed or piped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.cli.failure import CommandFailedError
from headrace.records.record import Header

_SEPARATORS = ("key.separator", "headers.delimiter", "headers.separator", "headers.key.separator")
_DIFFERENT = (
    ("headers.delimiter", "headers.separator"),
    ("headers.delimiter", "headers.key.separator"),
    ("headers.separator", "headers.key.separator"),
)


@dataclass(slots=True)
class LineRecord:
    """What one line says."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]


class LineReader:
    """Splits lines by Kafka's properties: `parse.key`, `key.separator`, `null.marker` and so on."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        defaults = dict(zip(_SEPARATORS, ("\t", "\t", ",", ":"), strict=True))
        separators = {name: properties.get(name, defaults[name]) for name in _SEPARATORS}
        _check_separators(separators, properties.get("null.marker"))
        self._parse_key = _flag(properties, "parse.key")
        self._parse_headers = _flag(properties, "parse.headers")
        self._ignore_error = _flag(properties, "ignore.error")
        self._key_separator = separators["key.separator"].encode()
        self._headers_delimiter = separators["headers.delimiter"].encode()
        self._headers_separator = _pattern(separators["headers.separator"])
        self._headers_key_separator = separators["headers.key.separator"].encode()
        marker = properties.get("null.marker")
        self._null_marker = None if marker is None else marker.encode()
        self._line_number = 0

    def parse(self, line: bytes) -> LineRecord:
        """The record of one line; a line that does not fit its pattern fails unless ignored."""
        self._line_number += 1
        headers, rest = None, line
        if self._parse_headers:
            headers, rest = self._cut(line, rest, self._headers_delimiter, "headers delimiter")
        key = None
        if self._parse_key:
            key, rest = self._cut(line, rest, self._key_separator, "key separator")
        return LineRecord(
            self._unless_null(key),
            self._unless_null(rest),
            self._headers(headers) if self._unless_null(headers) is not None else [],
        )

    def _cut(
        self, line: bytes, rest: bytes, separator: bytes, what: str
    ) -> tuple[bytes | None, bytes]:
        field, found, remainder = rest.partition(separator)
        if found:
            return field, remainder
        if self._ignore_error:
            return None, rest
        raise CommandFailedError(
            f"No {what} found on line number {self._line_number}: '{_text(line)}'"
        )

    def _headers(self, text: bytes | None) -> list[Header]:
        pairs = self._headers_separator.split(text or b"")
        while pairs and not pairs[-1]:
            pairs.pop()
        return [self._header(pair) for pair in pairs or [b""]]

    def _header(self, pair: bytes) -> Header:
        name, found, value = pair.partition(self._headers_key_separator)
        if not found:
            if self._ignore_error:
                return pair.decode(), None
            raise CommandFailedError(
                f"No header key separator found in pair '{_text(pair)}'"
                f" on line number {self._line_number}"
            )
        if name == self._null_marker:
            raise CommandFailedError(
                f"Header keys should not be equal to the null marker '{_text(name)}'"
                " as they can't be null"
            )
        return name.decode(), self._unless_null(value)

    def _unless_null(self, field: bytes | None) -> bytes | None:
        return None if field == self._null_marker else field


def _pattern(text: str) -> re.Pattern[bytes]:
    """The one of the separators that is a regular expression, as Java's `split` takes it."""
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise CommandFailedError(
            f"headers.separator is a regular expression, and '{text}' is none: {error.msg}."
        ) from None


def _check_separators(separators: Mapping[str, str], marker: str | None) -> None:
    for one, other in _DIFFERENT:
        if separators[one] == separators[other]:
            raise CommandFailedError(f"{one} and {other} may not be equal")
    for name in _SEPARATORS:
        if separators[name] == marker:
            raise CommandFailedError(f"null.marker and {name} may not be equal")


def _flag(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "false").strip().lower() == "true"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
