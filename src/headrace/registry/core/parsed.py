"""What every schema language offers to the registry once a text is parsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headrace.registry.core.difference import Difference


class ParsedSchema(Protocol):
    """A schema of one language, parsed together with what it refers to."""

    def canonical(self) -> str:
        """The text that is stored: equal for texts that differ in layout only."""

    def normalized(self) -> str:
        """Equal also for texts that differ in an order without meaning."""

    def resolved(self) -> str:
        """The normalized text with everything it refers to in it."""

    def unreadable(self, writer: ParsedSchema) -> list[Difference]:
        """What keeps this schema from reading data of `writer`, one of the same language."""


#: The texts of references by the names they are used under, those of references first.
References = Mapping[str, str]
