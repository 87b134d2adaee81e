"""Records through the REST proxy against the same records sent by confluent-kafka directly.

python bench/rest.py --quick

Both producers write to the same Headrace node, in rounds that take turns. The proxy is a process
of its own, and so is whoever sends: direct records come from a confluent-kafka producer with
delivery reports, requests from connections that are kept open.
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Run as a file, the interpreter looks for modules in bench/ instead of in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.environment import environment
from bench.markdown import environment_line, format_ratio, markdown_table, write_between_markers
from bench.processes import end_cleanly_on_sigterm
from bench.results import RAW, save_json
from headrace.testing import EmbeddedKafka
from tests.support.headrace_node import HEADRACE

VALUE = b"v" * 100
CONNECTIONS = 8
RECORDS_A_REQUEST = 100
_V2 = "application/vnd.kafka.{}.v2+json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few records; publishes nothing")
    parser.add_argument("--output", type=Path, default=RAW, help="where the JSON goes")
    arguments = parser.parse_args()
    end_cleanly_on_sigterm()
    rounds, count = (2, 40_000) if arguments.quick else (7, 160_000)
    with EmbeddedKafka() as kafka, _proxy(kafka.bootstrap_servers) as url:
        kafka.create_topic("records", 4)
        figures = _measure(kafka.bootstrap_servers, url, rounds, count)
    direct = statistics.median(figures["direct"])
    rows = [
        (name, f"{statistics.median(rates):,.0f}", format_ratio(statistics.median(rates) / direct))
        for name, rates in figures.items()
    ]
    table = markdown_table(("records of 100 bytes", "a second", "of direct"), rows)
    path = save_json({"environment": environment(), "figures": figures}, arguments.output, "rest")
    print(f"\n{table}\nEvery figure: {path}")
    if not arguments.quick:
        write_between_markers("bench: rest", f"{table}\n{environment_line(environment())}")


@contextmanager
def _proxy(bootstrap: str) -> Iterator[str]:
    command = [*HEADRACE, "rest-proxy", "start", "--override", "listeners=http://127.0.0.1:0"]
    command += ["--override", f"bootstrap.servers={bootstrap}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield child.stdout.readline().split()[5]
        child.terminate()


def _measure(bootstrap: str, url: str, rounds: int, count: int) -> dict[str, list[float]]:
    """Records a second."""
    address = url.removeprefix("http://")
    binary = {"records": [{"value": b64encode(VALUE).decode()}] * RECORDS_A_REQUEST}
    plain = {"records": [{"value": {"text": "v" * 90}}] * RECORDS_A_REQUEST}
    line = json.dumps({"value": {"type": "BINARY", "data": b64encode(VALUE).decode()}})
    stream = "\n".join([line] * (count // CONNECTIONS)) + "\n"
    cluster = _cluster_id(address)
    v3 = f"/v3/clusters/{cluster}/topics/records/records"
    requests = count // RECORDS_A_REQUEST // CONNECTIONS
    work: dict[str, Callable[[], None]] = {
        "direct": lambda: _in_process(_send_directly, bootstrap, count),
        "v2, binary, 100 a request": lambda: _in_process(
            _send_requests,
            address,
            _request("/topics/records", _V2.format("binary"), binary),
            requests,
        ),
        "v2, JSON, 100 a request": lambda: _in_process(
            _send_requests,
            address,
            _request("/topics/records", _V2.format("json"), plain),
            requests,
        ),
        "v3, streamed": lambda: _in_process(
            _send_requests, address, _raw_request(v3, "application/json", stream.encode()), 1
        ),
    }
    figures: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            # The first round warms everything up.
            if number:
                figures[name].append(count / (time.perf_counter() - start))
    return figures


def _in_process(target: Callable[..., None], *args: Any) -> None:
    child = multiprocessing.get_context("fork").Process(target=target, args=args)
    child.start()
    child.join()
    if child.exitcode:
        raise RuntimeError("a sender failed")


def _send_directly(bootstrap: str, count: int) -> None:
    from confluent_kafka import Producer

    done = 0

    def report(error: object, _message: object) -> None:
        nonlocal done
        assert error is None, error
        done += 1

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for _ in range(count):
        while True:
            try:
                producer.produce("records", VALUE, on_delivery=report)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush()
    assert done == count


def _send_requests(address: str, request: bytes, requests: int) -> None:
    asyncio.run(_send_on_all(address, request, requests))


async def _send_on_all(address: str, request: bytes, requests: int) -> None:
    await asyncio.gather(*(_send_on_one(address, request, requests) for _ in range(CONNECTIONS)))


async def _send_on_one(address: str, request: bytes, requests: int) -> None:
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 26)
    for _ in range(requests):
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head, head
        if b"content-length:" in head:
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
        else:
            body = await _chunks(reader)
        assert b'"error_code":5' not in body, body[:300]
    writer.close()


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    while True:
        size = int((await reader.readuntil(b"\r\n"))[:-2], 16)
        piece = await reader.readexactly(size + 2)
        if not size:
            return b"".join(pieces)
        pieces.append(piece[:-2])


def _request(path: str, kind: str, body: dict[str, Any]) -> bytes:
    return _raw_request(path, kind, json.dumps(body).encode())


def _raw_request(path: str, kind: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _cluster_id(address: str) -> str:
    import httpx

    answer = httpx.get(f"http://{address}/v3/clusters", trust_env=False)
    return str(answer.json()["data"][0]["cluster_id"])


if __name__ == "__main__":
    main()
