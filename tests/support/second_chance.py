"""Says by the exit code of a run whether what failed may be run once more, alone.

Tests with real clients and programs may lose a race on a busy machine. Nothing else may fail once:
no unit test, and no test marked `no_second_chance` because it looks for rare losses (durability,
kills, disk exchange, damaged files, fuzzing). `make test` and `make interop` load this plugin.
"""

import pytest

#: Everything that failed may have its second chance. pytest itself ends with 1 if tests failed.
MAY_RUN_AGAIN = 75

_REAL_PROCESSES = tuple(f"tests/{part}/" for part in ("clients", "interop", "pipelines"))
#: A worker that died reports its test with another word here.
_PARTS_OF_A_TEST = ("setup", "call", "teardown")


class SecondChance:
    """Looks at every failure of a run."""

    def __init__(self) -> None:
        self._failures = 0
        self._final = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failures += 1
            self._final += not may_run_again(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        # A worker's broken module counts as one more failed test. Its tests have not run.
        self._final += report.failed

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # Anything but failed tests (a crash, an interruption, nothing collected) is final.
        if exitstatus == pytest.ExitCode.TESTS_FAILED and self._failures and not self._final:
            session.exitstatus = MAY_RUN_AGAIN


def may_run_again(report: pytest.TestReport) -> bool:
    return (
        report.when in _PARTS_OF_A_TEST
        and report.nodeid.startswith(_REAL_PROCESSES)
        and "no_second_chance" not in report.keywords
    )


def pytest_configure(config: pytest.Config) -> None:
    # Workers of pytest-xdist hand their reports on to the run that counts.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SecondChance(), "second-chance")
