"""Rounds of a node's periodic work that do nothing but count."""

from __future__ import annotations

import asyncio

import pytest

from headrace.server.maintenance import Maintenance


class CountedRounds:
    """Stands in the place of one kind of maintenance, on nodes that start from now on."""

    def __init__(
        self, patch: pytest.MonkeyPatch, work: str, failure: Exception | None = None
    ) -> None:
        self.count = 0

        async def count(_: Maintenance) -> None:
            self.count += 1
            if failure is not None:
                raise failure

        count.__name__ = work
        patch.setattr(Maintenance, work, count)

    async def more(self, rounds: int) -> int:
        """Wait until there were so many more; how many turns the loop had meanwhile."""
        enough, turns = self.count + rounds, 0
        while self.count < enough:
            await asyncio.sleep(0)
            turns += 1
        return turns
