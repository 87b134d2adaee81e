"""How descriptors are shared between connections and log files."""

import resource

import pytest

from headrace.server.file_limit import connections_that_fit, raise_file_limit


@pytest.mark.parametrize("files_max", [256, 1024, 20_000, 65_536])
def test_connections_and_log_files_never_take_every_descriptor(files_max: int) -> None:
    log_files_max = files_max // 2
    connections = connections_that_fit(files_max, log_files_max)
    assert connections >= 8
    # A connection that files are sent on has two.
    assert 2 * connections + log_files_max + 32 <= files_max


def test_a_few_connections_are_let_in_however_low_the_limit_is() -> None:
    assert connections_that_fit(32, 16) == 8


@pytest.mark.parametrize(("allowed", "reached"), [(10_240, 10_240), (245_760, 65_536), (100, 256)])
def test_a_limit_that_the_system_does_not_tell_is_found(
    monkeypatch: pytest.MonkeyPatch, allowed: int, reached: int
) -> None:
    limits = [256, resource.RLIM_INFINITY]

    def setrlimit(kind: int, wanted: tuple[int, int]) -> None:
        if wanted[0] > allowed:
            raise ValueError("current limit exceeds maximum limit")
        limits[0] = wanted[0]

    monkeypatch.setattr(resource, "getrlimit", lambda kind: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    raise_file_limit()
    assert limits == [reached, resource.RLIM_INFINITY]


def test_no_more_is_taken_than_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4000))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, wanted: taken.append(wanted))
    raise_file_limit()
    assert taken == [(4000, 4000)]
