"""Kafka's UUIDs: 16 plain bytes inside, 22 characters of base64url outside.

Bytes are what the wire and the disk hold and hash fast, so no class wraps them.
"""

import base64
import binascii
import os

ZERO_UUID = bytes(16)
#: The id of the metadata topic, fixed by Kafka.
METADATA_TOPIC_ID = (1).to_bytes(16, "big")

#: Directory ids with a meaning of their own (KIP-858).
DIRECTORY_UNASSIGNED = ZERO_UUID
DIRECTORY_LOST = (1).to_bytes(16, "big")
DIRECTORY_MIGRATING = (2).to_bytes(16, "big")
RESERVED_IDS = frozenset((n).to_bytes(16, "big") for n in range(100))


def format_uuid(value: bytes) -> str:
    """The text form that Kafka prints, for instance `AAAAAAAAAAAAAAAAAAAAAQ`."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def parse_uuid(text: str) -> bytes:
    """The 16 bytes of a printed id; `ValueError` with a clear sentence for anything else."""
    try:
        value = base64.urlsafe_b64decode(text + "==")
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{text!r} is not a base64url UUID of 22 characters") from error
    if len(value) != 16 or len(text) != 22:
        raise ValueError(f"{text!r} is not a base64url UUID of 22 characters")
    return value


def random_uuid() -> bytes:
    """A fresh random id, never one of Kafka's reserved ids, never starting with a dash."""
    while True:
        value = bytearray(os.urandom(16))
        value[6] = (value[6] & 0x0F) | 0x40
        value[8] = (value[8] & 0x3F) | 0x80
        candidate = bytes(value)
        if candidate not in RESERVED_IDS and not format_uuid(candidate).startswith("-"):
            return candidate
