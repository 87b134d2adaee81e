"""SCRAM credentials of users in `headrace configs`."""

from __future__ import annotations

import os
import re

from headrace.base.errors import ErrorCode
from headrace.cli.failure import CommandFailedError
from headrace.cli.scram import ITERATIONS_MIN, MECHANISMS, parse_iterations, salt_password
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from headrace.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")


def ask_credentials(
    client: KafkaClient, user: str | None
) -> list[tuple[str, list[tuple[str, int]]]]:
    """Mechanism and iterations of each user; a user without credentials is left out."""
    names = None if user is None else [UserName(name=user)]
    request = DescribeUserScramCredentialsRequest(users=names)
    answer = client.admin(request, DescribeUserScramCredentialsResponse)
    mechanisms = {mechanism.number: mechanism.name for mechanism in MECHANISMS.values()}
    found = []
    for result in answer.results:
        if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        raise_for_code(result.error_code, result.error_message)
        rows = [
            (mechanisms.get(i.mechanism, "UNKNOWN"), i.iterations) for i in result.credential_infos
        ]
        found.append((result.user, rows))
    return found


def alter_credentials(
    client: KafkaClient, user: str, added: dict[str, str], removed: list[str]
) -> None:
    upsertions = []
    for name, text in added.items():
        mechanism = MECHANISMS[name]
        match = _CREDENTIAL.fullmatch(text)
        if match is None:
            raise CommandFailedError(f"Invalid credential property {name}={text}")
        iterations = parse_iterations(mechanism, match[1] or str(ITERATIONS_MIN))
        salt = os.urandom(32)
        upsertions.append(
            ScramCredentialUpsertion(
                name=user,
                mechanism=mechanism.number,
                iterations=iterations,
                salt=salt,
                salted_password=salt_password(mechanism, match[2], salt, iterations),
            )
        )

    def check(response: AlterUserScramCredentialsResponse) -> None:
        for row in response.results:
            raise_for_code(row.error_code, row.error_message)

    request = AlterUserScramCredentialsRequest(
        deletions=[
            ScramCredentialDeletion(name=user, mechanism=MECHANISMS[name].number)
            for name in removed
        ],
        upsertions=upsertions,
    )
    client.admin(request, AlterUserScramCredentialsResponse, check=check)
