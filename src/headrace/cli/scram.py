"""SCRAM credentials (RFC 5802) as the tools take them, and what is stored of them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from dataclasses import dataclass

from headrace.cli.failure import CommandFailedError

ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A SCRAM mechanism: its name, its number in Kafka's messages, and its hash."""

    name: str
    number: int
    digest: str


MECHANISMS = {
    "SCRAM-SHA-256": Mechanism("SCRAM-SHA-256", 1, "sha256"),
    "SCRAM-SHA-512": Mechanism("SCRAM-SHA-512", 2, "sha512"),
}


@dataclass(frozen=True, slots=True)
class Credential:
    """What somebody who knows the password can be checked against, without storing it."""

    name: str
    mechanism: Mechanism
    iterations: int
    salt: bytes
    salted_password: bytes

    @property
    def stored_key(self) -> bytes:
        client_key = self._keyed(b"Client Key")
        return hashlib.new(self.mechanism.digest, client_key).digest()

    @property
    def server_key(self) -> bytes:
        return self._keyed(b"Server Key")

    def _keyed(self, text: bytes) -> bytes:
        return hmac.new(self.salted_password, text, self.mechanism.digest).digest()


def salt_password(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def parse_add_scram(text: str) -> Credential:
    """`SCRAM-SHA-256=[name=alice,password=secret]`, as `storage format --add-scram` takes it."""
    name, equals, body = text.partition("=")
    if not equals:
        raise CommandFailedError(f"Failed to find equals sign in SCRAM argument '{text}'")
    mechanism = MECHANISMS.get(name)
    if mechanism is None:
        raise CommandFailedError(f"The add-scram mechanism {name} is not supported.")
    if not (body.startswith("[") and body.endswith("]")):
        raise CommandFailedError("Expected configuration string to stand between [ and ]")
    return _from_fields(mechanism, _fields(body[1:-1]))


def _fields(text: str) -> dict[str, str]:
    fields = {}
    for component in text.split(","):
        name, equals, value = component.partition("=")
        if not equals:
            raise CommandFailedError(f"No equals sign found in SCRAM component: {component}")
        if len(value) >= 2 and value[0] == value[-1] == '"':
            value = value[1:-1]
        fields[name] = value
    return fields


def _from_fields(mechanism: Mechanism, fields: dict[str, str]) -> Credential:
    name = fields.pop("name", None)
    if name is None:
        raise CommandFailedError("You must supply 'name' to add-scram")
    salt_text = fields.pop("salt", None)
    salt = os.urandom(32) if salt_text is None else _decode(salt_text, "salt")
    iterations = parse_iterations(mechanism, fields.pop("iterations", str(ITERATIONS_MIN)))
    password = fields.pop("password", None)
    salted_text = fields.pop("saltedpassword", None)
    if fields:
        raise CommandFailedError(f"Unknown SCRAM configurations: {', '.join(sorted(fields))}")
    if password is not None:
        salted = salt_password(mechanism, password, salt, iterations)
    elif salted_text is None:
        raise CommandFailedError(
            "You must supply one of 'password' or 'saltedpassword' to add-scram"
        )
    elif salt_text is None:
        raise CommandFailedError("You must supply 'salt' with 'saltedpassword' to add-scram")
    else:
        salted = _decode(salted_text, "saltedPassword")
    return Credential(name, mechanism, iterations, salt, salted)


def parse_iterations(mechanism: Mechanism, text: str) -> int:
    try:
        iterations = int(text)
    except ValueError:
        raise CommandFailedError(f"Failed to parse iterations count: {text}") from None
    if iterations < ITERATIONS_MIN:
        raise CommandFailedError(
            f"Iterations {iterations} is less than the minimum {ITERATIONS_MIN}"
            f" required for {mechanism.name}"
        )
    if iterations > ITERATIONS_MAX:
        raise CommandFailedError(
            f"Iterations {iterations} is more than the maximum {ITERATIONS_MAX}"
            f" allowed for {mechanism.name}"
        )
    return iterations


def _decode(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise CommandFailedError(f"Failed to decode given {what}: {text}") from None
