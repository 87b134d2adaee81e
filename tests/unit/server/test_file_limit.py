"""How descriptors are shared between connections and log files."""

import pytest

from headrace.server.file_limit import connections_that_fit


@pytest.mark.parametrize("files_max", [256, 1024, 20_000, 65_536])
def test_connections_and_log_files_never_take_every_descriptor(files_max: int) -> None:
    log_files_max = files_max // 2
    connections = connections_that_fit(files_max, log_files_max)
    assert connections >= 8
    # A connection that files are sent on has two.
    assert 2 * connections + log_files_max + 32 <= files_max


def test_a_few_connections_are_let_in_however_low_the_limit_is() -> None:
    assert connections_that_fit(32, 16) == 8
