"""A node that is full of clients."""

import asyncio
import struct
from pathlib import Path

from headrace.server.node import Node
from tests.support.raw_socket import HARMLESS, RawSocket, request
from tests.unit.server.nodes import formatted, run

_API_VERSIONS = request(18, 0)
_PRODUCE_KEY = 0


def _ports(node: Node) -> dict[str, int]:
    return {listener.name: listener.port for listener in node.listeners}


def test_clients_do_not_keep_an_operator_from_the_controller(tmp_path: Path) -> None:
    def crowd(ports: dict[str, int]) -> None:
        clients = [RawSocket(ports["PLAINTEXT"]) for _ in range(2)]
        for client in clients:
            client.send(HARMLESS)
            client.receive_frame()
        with RawSocket(ports["PLAINTEXT"]) as third:
            assert third.is_closed_by_server(), "there is no room"
        with RawSocket(ports["CONTROLLER"]) as operator:
            operator.send(_API_VERSIONS)
            assert operator.receive_frame()[4:6] == b"\0\0", "no error"
        for client in clients:
            client.close()

    async def story(node: Node) -> None:
        await asyncio.to_thread(crowd, _ports(node))

    run(formatted(tmp_path / "data", {"max.connections": "2"}), story)


def test_a_large_request_takes_of_the_memory_that_all_share_and_gives_it_back(
    tmp_path: Path,
) -> None:
    half = struct.pack(">ihh", 200_000, _PRODUCE_KEY, 9) + bytes(100_000)

    async def story(node: Node) -> None:
        memory = node.listeners[0].memory
        client = await asyncio.to_thread(RawSocket, _ports(node)["PLAINTEXT"])
        await asyncio.to_thread(client.send, half)
        while memory.taken == 0:  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0)
        assert memory.taken == 200_000
        assert memory.is_used_up
        client.close()
        while memory.taken:  # noqa: ASYNC110
            await asyncio.sleep(0)

    limits = {"queued.max.request.bytes": "200000", "socket.request.max.bytes": "200000"}
    run(formatted(tmp_path / "data", limits), story)
