"""What stands between two schemas: a kind, a place, and the sentence for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One change that a reader of one schema cannot take from a writer of the other.

    In `description` stand `{reader}` and `{writer}`; which of them is the new schema depends on
    the direction that was checked.
    """

    kind: str
    path: str
    description: str
    additional: str | None = None

    def text(self, reader: str, writer: str) -> str:
        """In the form that tools around Confluent's registry parse."""
        said = self.description.replace("{reader}", reader).replace("{writer}", writer)
        if self.additional is None:
            return f'{{errorType:"{self.kind}", description:"{said}"}}'
        return (
            f"{{errorType:'{self.kind}', description:'{said}', additionalInfo:'{self.additional}'}}"
        )
