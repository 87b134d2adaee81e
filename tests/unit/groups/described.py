"""Descriptions of groups as clients get them."""

from __future__ import annotations

from typing import Any

from headrace.groups.description import Description


def whole(response: Any) -> Any:
    """The response; groups that are described in it have all their members."""
    if isinstance(response, list):
        return [one.whole() if isinstance(one, Description) else one for one in response]
    return response
