"""SCRAM credentials."""

from __future__ import annotations

import base64

import pytest

from headrace.cli.failure import CommandFailedError
from headrace.cli.scram import MECHANISMS, Credential, parse_add_scram, salt_password


def test_the_example_of_rfc_7677() -> None:
    """User `user`, password `pencil`, with the salt and iterations of the RFC."""
    import hashlib
    import hmac

    mechanism = MECHANISMS["SCRAM-SHA-256"]
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = salt_password(mechanism, "pencil", salt, 4096)
    credential = Credential("user", mechanism, 4096, salt, salted)
    message = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = hmac.new(credential.server_key, message, hashlib.sha256).digest()
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_credentials_of_the_storage_tool() -> None:
    credential = parse_add_scram("SCRAM-SHA-512=[name=alice,iterations=8192,password=pw]")
    assert (credential.name, credential.iterations) == ("alice", 8192)
    given = parse_add_scram('SCRAM-SHA-256=[name=a,salt="N3E=",saltedpassword="YCE="]')
    assert (given.salt, given.salted_password) == (b"7q", b"`!")


@pytest.mark.parametrize(
    "text",
    [
        "SCRAM-SHA-256",
        "SCRAM-MD5=[name=a,password=b]",
        "SCRAM-SHA-256=name=a",
        "SCRAM-SHA-256=[password=b]",
        "SCRAM-SHA-256=[name=a]",
        "SCRAM-SHA-256=[name=a,saltedpassword=YCE=]",
        "SCRAM-SHA-256=[name=a,password=b,iterations=1]",
        "SCRAM-SHA-256=[name=a,password=b,iterations=99999]",
        "SCRAM-SHA-256=[name=a,password=b,what=c]",
    ],
)
def test_credentials_that_make_no_sense(text: str) -> None:
    with pytest.raises(CommandFailedError):
        parse_add_scram(text)
