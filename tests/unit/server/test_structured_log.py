"""Log lines: nothing that a client sends leaves its line or reaches the terminal as a command."""

from __future__ import annotations

import json
import logging

import pytest

from headrace.server.structured_log import JsonFormatter, TextFormatter


def record_of(
    message: str, *arguments: object, error: Exception | None = None
) -> logging.LogRecord:
    information = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("here", logging.INFO, "", 0, message, arguments, information)


def raised(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


def test_no_control_character_of_a_text_is_written() -> None:
    controls = "".join(map(chr, [*range(32), *range(127, 160)]))
    line = TextFormatter().format(record_of("client %s is here", controls))
    assert line.isprintable()
    assert r"\x00\x01" in line
    assert r"\x08\t\n\x0b\x0c\r\x0e" in line
    assert r"\x1b" in line
    assert r"\x7f\x80" in line


@pytest.mark.parametrize("text", ["caf\u00e9 \u65e5\u672c", "C:\\new", "50 %"])
def test_other_texts_are_written_as_they_are(text: str) -> None:
    assert f"<{text}>" in TextFormatter().format(record_of("<%s>", text))


def test_a_traceback_has_its_lines_and_its_text_makes_no_record() -> None:
    forged = "\x1b[2J\n2026-01-01T00:00:00.000Z INFO    all is well (headrace)"
    line, *trace = TextFormatter().format(record_of("failed", error=raised(forged))).split("\n")
    assert line.endswith("failed (here)")
    assert trace[0] == "  Traceback (most recent call last):"
    assert all(part.startswith("  ") and part.isprintable() for part in trace)
    assert r"ValueError: \x1b[2J" in trace[-2]


def test_json_escapes_them_by_itself() -> None:
    text = JsonFormatter().format(record_of("a\x1b\n\x9b", error=raised("b\x1b")))
    assert text.isprintable()
    entry = json.loads(text)
    assert entry["message"] == "a\x1b\n\x9b"
    assert entry["exception"].endswith("ValueError: b\x1b")
