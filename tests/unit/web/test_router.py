"""Finding handlers by method and path."""

import asyncio

import pytest

from headrace.web.messages import HttpError, Request, Response
from headrace.web.router import Handler, Route, Router


def handler(name: str) -> Handler:
    async def handle(_: Request) -> Response:
        return Response(name.encode())

    return handle


ROUTER = Router(
    [
        Route("GET", "/things", handler("list")),
        Route("GET", "/things/{thing}", handler("one")),
        Route("POST", "/things/{thing}/parts/{part}", handler("part")),
        Route("GET", "/things/all", handler("all")),
    ]
)
NOBODY = Request("GET", "/", {}, {}, lambda: asyncio.sleep(0, b""))


def found(method: str, path: str) -> tuple[bytes, dict[str, str]]:
    handle, params = ROUTER.find(method, path)
    return asyncio.run(handle(NOBODY)).body, params  # type: ignore[arg-type]


def test_a_literal_segment_goes_before_a_parameter() -> None:
    assert found("GET", "/things/all") == (b"all", {})
    assert found("GET", "/things/any") == (b"one", {"thing": "any"})
    assert found("GET", "/things/") == (b"list", {})


def test_parameters_are_decoded_after_the_path_is_split() -> None:
    assert found("POST", "/things/a%2Fb/parts/%C3%A9") == (b"part", {"thing": "a/b", "part": "é"})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/things/a/parts", 404),
        ("POST", "/things", 405),
        ("GET", "/things/%ff", 400),
    ],
)
def test_what_is_not_there_says_why(method: str, path: str, status: int) -> None:
    with pytest.raises(HttpError) as error:
        ROUTER.find(method, path)
    assert error.value.status == status


def test_the_methods_of_a_path_are_known() -> None:
    assert ROUTER.methods("/things/x/parts/y") == ["POST"]
    assert ROUTER.methods("/nothing") == []
