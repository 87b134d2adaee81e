"""The schema registry against its floor: the same web stack answering a constant.

`python bench/registry.py` starts a node, a registry and the floor, asks them in turns over kept
connections, and prints requests per second, the 99th percentile, and the registry's share of the
floor. The share is what is judged; times are this machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from headrace.testing import EmbeddedKafka
from tests.support.schema_registry import SchemaRegistry

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": f"field_{n}", "type": ["null", "string"]} for n in range(10)],
    }
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn")
    parser.add_argument("--connections", type=int, default=8)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedKafka() as kafka,
        SchemaRegistry(Path(directory), kafka.bootstrap_servers) as registry,
    ):
        id_ = registry.register("orders-value", SCHEMA)
        body = json.dumps({"schema": SCHEMA}).encode()
        answer = json.dumps(registry.ask("GET", f"/schemas/ids/{id_}").body).encode()
        floor = start_floor(answer)
        turns = {
            "floor GET": (floor, request("GET", "/schemas/ids/1")),
            "by id": (registry.port, request("GET", f"/schemas/ids/{id_}")),
            "floor POST": (floor, request("POST", "/subjects/orders-value/versions", body)),
            "register existing": (
                registry.port,
                request("POST", "/subjects/orders-value/versions", body),
            ),
        }
        results: dict[str, list[tuple[float, float]]] = {name: [] for name in turns}
        for round_ in range(args.rounds + 1):
            for name, (port, data) in turns.items():
                outcome = asyncio.run(load(port, data, args.connections, args.seconds))
                if round_:  # the first round warms up
                    results[name].append(outcome)
    report(results)


def report(results: dict[str, list[tuple[float, float]]]) -> None:
    rates = {name: statistics.median(row[0] for row in rows) for name, rows in results.items()}
    tails = {name: statistics.median(row[1] for row in rows) for name, rows in results.items()}
    for name in results:
        print(f"{name:20} {rates[name]:10,.0f} requests/s   p99 {tails[name] * 1000:6.2f} ms")
    for name, floor in (("by id", "floor GET"), ("register existing", "floor POST")):
        pairs = zip(results[name], results[floor], strict=True)
        ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in pairs)
        print(f"{name:20} {ratio:10.2f} x the floor, p99 {tails[name] / tails[floor]:.2f} x")


def request(method: str, path: str, body: bytes = b"") -> bytes:
    kind = "Content-Type: application/vnd.schemaregistry.v1+json\r\n" if body else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


# -------------------------------------------------------------------- the load


async def load(port: int, data: bytes, connections: int, seconds: float) -> tuple[float, float]:
    """Requests per second, and the 99th percentile of their times."""
    until = time.perf_counter() + seconds
    started = time.perf_counter()
    times: list[float] = []
    await asyncio.gather(*(ask(port, data, until, times) for _ in range(connections)))
    elapsed = time.perf_counter() - started
    times.sort()
    return len(times) / elapsed, times[int(len(times) * 0.99)]


async def ask(port: int, data: bytes, until: float, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (begun := time.perf_counter()) < until:
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        at = head.lower().index(b"content-length: ") + 16
        await reader.readexactly(int(head[at : head.index(b"\r", at)]))
        times.append(time.perf_counter() - begun)
    writer.close()


# -------------------------------------------------------------------- the floor


def start_floor(answer: bytes) -> int:
    """A process of the same web stack that answers everything with one constant."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve_floor, args=(answer, theirs), daemon=True
    )
    process.start()
    port: int = ours.recv()
    return port


def serve_floor(answer: bytes, pipe: Connection) -> None:
    import uvloop

    from headrace.registry.http.answers import CONTENT_TYPE
    from headrace.web.application import Application
    from headrace.web.messages import Request, Response
    from headrace.web.router import Route, Router
    from headrace.web.server import WebServer, bind

    async def constant(request: Request) -> Response:
        return Response(answer, 200, CONTENT_TYPE)

    async def serve() -> None:
        routes = [
            Route("GET", "/schemas/ids/{id}", constant),
            Route("POST", "/subjects/{subject}/versions", constant),
        ]
        server = WebServer(Application(Router(routes)), bind("http://127.0.0.1:0"))
        await server.start()
        pipe.send(server.ports[0])
        await asyncio.Event().wait()

    uvloop.run(serve())


if __name__ == "__main__":
    main()
