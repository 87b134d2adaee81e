"""What keeps `headrace up` from starting, each in one sentence."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.server import structured_log


@pytest.fixture(autouse=True)
def own_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a node would take the place of the tests' own."""
    monkeypatch.setattr(structured_log, "configure_logging", lambda *_, **__: None)


def refusal(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["up", "--port", "0", *options]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.strip()


def test_a_file_in_place_of_the_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    for path in (file, file / "below"):
        expected = f"The node cannot work in {path}: Not a directory."
        assert refusal(capsys, "--data", str(path)) == expected


def test_a_directory_of_somebody_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"")
    assert refusal(capsys, "--data", str(tmp_path)) == (
        f"{tmp_path} holds files but no meta.properties, so it is no data directory:"
        " name an empty directory, or one that does not exist yet."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        said = refusal(capsys, "--data", str(tmp_path / "data"), "--port", port)
    assert said == f"Cannot listen on 127.0.0.1:{port}: Address already in use."


@pytest.mark.parametrize("option", ["--port", "--metrics-port", "--registry-port", "--rest-port"])
@pytest.mark.parametrize("port", ["65536", "22222223", "http"])
def test_a_port_that_is_none(
    option: str, port: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["up", "--data", str(tmp_path / "data"), option, port])
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()[0]
    expected = f"argument {option}: a port is a number from 0 to 65535, not '{port}'."
    assert said == f"headrace up: {expected}"


def test_the_last_port_has_no_room_for_the_controller(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["up", "--port", "65535"])
    assert "65535 leaves no next port for the controller." in capsys.readouterr().err


def test_a_variable_with_a_bad_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "many")
    assert refusal(capsys, "--data", str(tmp_path / "data")) == (
        "Invalid value many for configuration num.partitions: Not a number of type INT"
    )


def test_a_cluster_id_of_the_environment_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER_ID", "mine")
    said = refusal(capsys, "--data", str(tmp_path / "data"))
    assert said == "The cluster id 'mine' is no UUID: `headrace storage random-uuid` prints one."
