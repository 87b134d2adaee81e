"""Damage to the bytes of a message: cut, flipped, overwritten, repeated, or noise altogether."""

import random
from collections.abc import Callable, Sequence

_NASTY = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 10, b"\x80" * 5)

Mutation = Callable[[random.Random, bytes], bytes]


def damaged(chance: random.Random, sound: Sequence[bytes]) -> bytes:
    """One of these, with a mutation or more."""
    data = chance.choice(sound)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data = chance.choice(_MUTATIONS)(chance, data)
    return data


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _flip(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _overwrite(chance: random.Random, data: bytes) -> bytes:
    nasty = chance.choice(_NASTY)
    start = chance.randrange(len(data) + 1)
    return data[:start] + nasty + data[start + len(nasty) :]


def _insert(chance: random.Random, data: bytes) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + chance.choice((*_NASTY, chance.randbytes(3))) + data[start:]


def _repeat(chance: random.Random, data: bytes) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:]


def _noise(chance: random.Random, data: bytes) -> bytes:
    return chance.randbytes(chance.randrange(64))


_MUTATIONS: tuple[Mutation, ...] = (_cut, _flip, _flip, _overwrite, _insert, _repeat, _noise)
