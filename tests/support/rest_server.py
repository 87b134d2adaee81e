"""A REST proxy in a thread of the test, on a free port."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread

from headrace.rest.config import make_config
from headrace.rest.server import RestServer, run_on_loop


@contextmanager
def rest_server(settings: Mapping[str, str]) -> Iterator[RestServer]:
    config = make_config({"listeners": "http://127.0.0.1:0", **settings})
    server = RestServer(config)
    is_ready = Event()
    thread = Thread(target=run_on_loop, args=(server, lambda _: is_ready.set()))
    thread.start()
    try:
        assert is_ready.wait(20), "the proxy did not start"
        yield server
    finally:
        server.stop()
        thread.join()
