"""What `headrace dump-log` prints: Kafka's lines, or the same fields as a JSON object a line."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.cli.dump_decoders import compact_json
from headrace.cli.output import print_json_line

#: Fields that Kafka prints the way Java prints an optional number.
_OPTIONAL = ("deleteHorizonMs", "currentTxnFirstOffset")
#: Fields that Kafka prints without a colon behind their name.
_WITHOUT_COLON = ("SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters")


class DumpOutput:
    """Takes entries one at a time and keeps none, for files larger than memory."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def file(self, path: str) -> None:
        """The entries that follow are of this file."""
        if self._as_json:
            print_json_line({"kind": "file", "path": path})
        else:
            print(f"Dumping {path}")

    def note(self, text: str) -> None:
        """A sentence on the file as a whole."""
        if self._as_json:
            print_json_line({"kind": "note", "text": text})
        else:
            print(text)

    def entry(
        self, kind: str, fields: Mapping[str, object], *, prefix: str = "", suffix: str = ""
    ) -> None:
        """A batch, a record, or an entry of an index."""
        if self._as_json:
            print_json_line({"kind": kind, **fields})
        else:
            line = " ".join(map(_field_text, fields, fields.values()))
            print(f"{prefix}{line}{suffix}" if line else "")


def _field_text(name: str, value: object) -> str:
    if name in _OPTIONAL:
        text = "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, list):
        text = f"[{','.join(map(str, value))}]"
    else:
        text = compact_json(value) if isinstance(value, dict) else str(value)
    return f"{name} {text}" if name in _WITHOUT_COLON else f"{name}: {text}"
