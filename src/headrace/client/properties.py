"""Properties as the tools take them: from a file, and as `name=value` arguments."""

from __future__ import annotations

from headrace.base.java_properties import decode_properties, parse_properties


def read_properties(path: str) -> dict[str, str]:
    """The settings of a file, later lines before earlier ones; `OSError` if it cannot be read."""
    with open(path, "rb") as file:
        text = decode_properties(file.read())
    return {name: value for _, name, value in parse_properties(text)}


def parse_assignments(pairs: list[str]) -> dict[str, str]:
    """`name=value` arguments as the tools take them; `ValueError` for one without `=`."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"Invalid command line properties: {pair}")
        settings[name] = value
    return settings
