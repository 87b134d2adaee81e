"""A running registry: the replayed state, the topic behind it, and who may write to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.client.config import ClientConfig
from headrace.registry.config import RegistryConfig
from headrace.registry.core.records import noop_record
from headrace.registry.core.registry import Decision, Registry
from headrace.registry.errors import RegistryError, unknown_leader
from headrace.registry.kafka.election import Election
from headrace.registry.kafka.identity import Identity
from headrace.registry.kafka.reading import Row
from headrace.registry.kafka.schema_log import SchemaLog

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: A request waits for a broker that is away, but not until its client has given up.
_CLIENT_DEFAULTS = {"default.api.timeout.ms": "10000", "request.timeout.ms": "10000"}


class NotLeaderError(Exception):
    """The request belongs to another registry."""

    def __init__(self, leader: Identity) -> None:
        super().__init__(leader.url)
        self.leader = leader


class RegistryService:
    """Made within the event loop that it runs on."""

    def __init__(self, config: RegistryConfig, me: Identity) -> None:
        self.config = config
        self.me = me
        self.core = Registry(config.core)
        client = ClientConfig.from_settings(
            {**_CLIENT_DEFAULTS, **config.client}, client_id="headrace-schema-registry"
        )
        self._loop = asyncio.get_running_loop()
        self._log = SchemaLog(client, config.log, self._apply)
        self._election = Election(client, config.election, me, self._elected)
        self._leader: Identity | None = None
        self._leads = False
        self._writing = asyncio.Lock()
        self._preparing: asyncio.Task[None] | None = None
        self._known = asyncio.Event()

    # ---------------------------------------------------------------- its life

    async def start(self) -> None:
        """Return once the topic is read and a leader is known."""
        await self._log.start()
        self._election.start()
        try:
            async with asyncio.timeout(self.config.log.init_timeout_ms / 1000):
                await self._known.wait()
        except TimeoutError:
            logger.warning("no leader is known yet; requests that write have to wait for one")

    async def stop(self) -> None:
        async with self._writing:
            self._leads = False
        await asyncio.to_thread(self._election.stop)
        if self._preparing is not None:
            self._preparing.cancel()
        await self._log.stop()

    @property
    def leader(self) -> Identity | None:
        return self._leader

    @property
    def leads(self) -> bool:
        return self._leads and self._election.is_confirmed

    @property
    def cluster_id(self) -> str:
        return self._log.cluster_id or ""

    # ---------------------------------------------------------------- asking

    async def fresh(self, ask: Callable[[Registry], T]) -> T:
        """Answer from a state that has everything that was written before the question."""
        await self._log.catch_up()
        return ask(self.core)

    async def sure(self, ask: Callable[[Registry], T]) -> T:
        """Answer at once if there is an answer that stays true; a refusal only if it is sure."""
        revision = self.core.state.revision
        try:
            return ask(self.core)
        except RegistryError:
            await self._log.catch_up()
            if self.core.state.revision == revision:
                raise
        return ask(self.core)

    # ---------------------------------------------------------------- changing

    async def change(self, decide: Callable[[Registry], Decision]) -> Any:
        """Decide on the newest state, append what follows, answer once it is applied."""
        self._check_leads()
        async with self._writing:
            self._check_leads()
            await self._log.catch_up()
            decision = decide(self.core)
            if decision.records:
                # Reading on took time; who is no leader any more must not write.
                self._check_leads()
                await self._log.append(decision.records)
            return decision.reply

    def _check_leads(self) -> None:
        if self.leads:
            return
        leader = self._leader
        if leader is None or leader.url == self.me.url:
            raise unknown_leader()
        raise NotLeaderError(leader)

    # ---------------------------------------------------------------- what happens to it

    def _apply(self, row: Row) -> None:
        self.core.state.apply(row.key, row.value, row.timestamp)

    def _elected(self, leader: Identity | None) -> None:
        self._loop.call_soon_threadsafe(self._follow, leader)

    def _follow(self, leader: Identity | None) -> None:
        self._leader = leader
        if self._preparing is not None:
            self._preparing.cancel()
            self._preparing = None
        if leader is None or leader.url != self.me.url:
            self._leads = False
            if leader is not None:
                logger.info("the leader is %s", leader.url)
                self._known.set()
        elif not self._leads:
            self._preparing = self._loop.create_task(self._lead())
        else:
            self._known.set()

    async def _lead(self) -> None:
        """Read to the end before the first id is given out.

        The record that is written first shows that the topic takes writes, and lies behind
        whatever an earlier leader wrote.
        """
        while True:
            try:
                async with self._writing:
                    await self._log.catch_up()
                    await self._log.append([noop_record(self.core.state.highest_ids())])
                    self._leads = True
                    break
            except RegistryError as error:
                logger.warning("this registry cannot lead yet: %s", error.message)
                await asyncio.sleep(0.5)
        logger.info("this registry leads as %s", self.me.url)
        self._known.set()
