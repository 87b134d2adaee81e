"""What members of the registries' group say to one another, in Confluent's JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PROTOCOL_TYPE, PROTOCOL = "sr", "v0"
_VERSION = 1
NO_ERROR, DUPLICATE_URLS = 0, 1


@dataclass(frozen=True, slots=True)
class Identity:
    """A registry: where the others reach it, and whether it may lead."""

    host: str
    port: int
    eligible: bool = True
    scheme: str = "http"
    #: Whether it leads now; a leader stays one as long as it is in the group.
    is_leader: bool = False

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def fields(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "host": self.host,
            "port": self.port,
            "master_eligibility": self.eligible,
            "scheme": self.scheme,
            "leader": self.is_leader,
        }


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who leads; None if nobody can."""

    leader: Identity | None
    error: int = NO_ERROR


def write_identity(identity: Identity) -> bytes:
    return json.dumps(identity.fields(), separators=(",", ":")).encode()


def read_identity(data: bytes) -> Identity:
    return _identity(json.loads(data))


def elect(members: Mapping[str, Identity], *, sticky: bool) -> bytes:
    """The assignment that all members get: the eligible one with the smallest address.

    With `sticky`, a member that leads already goes on leading.
    """
    eligible = sorted(
        ((one.url, member) for member, one in members.items() if one.eligible), key=lambda x: x
    )
    leading = [(url, member) for url, member in eligible if members[member].is_leader]
    if sticky and len(leading) == 1:
        eligible = leading
    urls = {one.url for one in members.values()}
    fields: dict[str, Any] = {
        "version": _VERSION,
        "error": NO_ERROR if len(urls) == len(members) else DUPLICATE_URLS,
    }
    if eligible:
        member = eligible[0][1]
        fields |= {"master": member, "master_identity": members[member].fields()}
    return json.dumps(fields, separators=(",", ":")).encode()


def read_assignment(data: bytes) -> Assignment:
    fields = json.loads(data) if data else {}
    leader = fields.get("master_identity")
    return Assignment(
        None if leader is None else _identity(leader), int(fields.get("error") or NO_ERROR)
    )


def _identity(fields: Mapping[str, Any]) -> Identity:
    return Identity(
        str(fields["host"]),
        int(fields["port"]),
        bool(fields.get("master_eligibility")),
        str(fields.get("scheme") or "http"),
        bool(fields.get("leader")),
    )
