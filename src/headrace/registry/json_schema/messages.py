"""The sentences that go with the kinds of difference between JSON Schemas."""

from __future__ import annotations

from headrace.registry.core.difference import Difference

_ENDINGS = {
    "_ADDED": "The keyword at path '{path}' in the {reader} schema is not present"
    " in the {writer} schema",
    "_REMOVED": "The keyword at path '{path}' in the {reader} schema is not present"
    " in the {writer} schema",
    "_INCREASED": "The value at path '{path}' in the {reader} schema is more than its value"
    " in the {writer} schema",
    "_EXPANDED": "The value at path '{path}' in the {reader} schema is more than its value"
    " in the {writer} schema",
    "_DECREASED": "The value at path '{path}' in the {reader} schema is less than its value"
    " in the {writer} schema",
    "_NARROWED": "An array or combined type at path '{path}' has fewer elements"
    " in the {reader} schema than the {writer} schema",
    "_EXTENDED": "An array or combined type at path '{path}' has more elements"
    " in the {reader} schema than the {writer} schema",
    "_CHANGED": "A type at path '{path}' is different between the {reader} schema"
    " and the {writer} schema",
    "_ADDED_TO_OPEN_CONTENT_MODEL": "The {reader} schema has an open content model and has"
    " a property or item at path '{path}' which is missing in the {writer} schema",
    "_ADDED_TO_UNOPEN_CONTENT_MODEL": "The {reader} schema has an unopen content model and has"
    " a required property at path '{path}' which is missing in the {writer} schema",
    "_REMOVED_FROM_CLOSED_CONTENT_MODEL": "The {reader} schema has a closed content model and is"
    " missing a property or item present at path '{path}' in the {writer} schema",
    "_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": "A property or item is missing in the"
    " {reader} schema but present at path '{path}' in the {writer} schema and is not covered by"
    " its partially open content model",
    "_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": "The {reader} schema has a property or"
    " item at path '{path}' which is missing in the {writer} schema and is not covered by its"
    " partially open content model",
}
_BY_LENGTH = sorted(_ENDINGS, key=len, reverse=True)


def describe(kind: str, path: str) -> Difference:
    ending = next(ending for ending in _BY_LENGTH if kind.endswith(ending))
    return Difference(kind, path, _ENDINGS[ending].replace("{path}", path))
