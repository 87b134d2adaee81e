"""Subjects and their contexts: `:.context:subject`, or a bare subject in the default context."""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_CONTEXT = "."
#: Settings under this context hold where neither subject nor context have their own.
GLOBAL_CONTEXT = ".__GLOBAL"
#: A prefix that means every context.
ANY_CONTEXT = ":*:"

_PREFIX = ":."
_RESERVED = ("__GLOBAL", "__EMPTY")


class Subject(NamedTuple):
    """A subject's name apart from its context; `context` begins with a dot."""

    context: str
    name: str

    @property
    def qualified(self) -> str:
        return context_prefix(self.context) + self.name


def parse_subject(text: str) -> Subject:
    """Take a subject apart; everything up to the second colon is the context."""
    if not text.startswith(_PREFIX):
        return Subject(DEFAULT_CONTEXT, text)
    context, _, name = text[1:].partition(":")
    return Subject(context, name)


def normal(text: str) -> str:
    """One spelling for a subject: the default context is not written."""
    return parse_subject(text).qualified


def context_of(subject: str) -> str:
    return parse_subject(subject).context


def context_prefix(context: str) -> str:
    """What subjects of a context begin with."""
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def parse_context(text: str) -> str:
    """A context as it stands in a path: with or without its dot and colons."""
    bare = text.removeprefix(":").removesuffix(":")
    return bare if bare.startswith(".") else f".{bare}"


def beside(parent: str, subject: str) -> str:
    """A reference's subject: in its parent's context unless it names one."""
    found = parse_subject(subject)
    if found.context != DEFAULT_CONTEXT:
        return found.qualified
    return Subject(context_of(parent), subject).qualified


def is_valid(text: str, *, for_settings: bool = False) -> bool:
    """Whether schemas (or settings) may be kept under this subject."""
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text):
        return False
    subject = parse_subject(text)
    if subject.name in _RESERVED:
        return False
    return for_settings or subject.context != GLOBAL_CONTEXT


def is_context(text: str) -> bool:
    """Whether it names a whole context rather than a subject."""
    return not parse_subject(text).name
