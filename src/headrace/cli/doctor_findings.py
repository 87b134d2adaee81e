"""What the doctor finds: a sentence, and how bad it is."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """`level` is ok, note (works, but worth knowing) or wrong."""

    level: str
    subject: str
    text: str


def ok(subject: str, text: str) -> Finding:
    return Finding("ok", subject, text)


def note(subject: str, text: str) -> Finding:
    return Finding("note", subject, text)


def wrong(subject: str, text: str) -> Finding:
    return Finding("wrong", subject, text)
