"""Rules for the whole test run."""

from collections.abc import Generator

import pytest
from hypothesis import settings

from tests.support.tools import in_ci

# Never a deadline: no test asserts a time. In CI the same examples every time.
settings.register_profile("house", deadline=None, derandomize=in_ci(), print_blob=True)
settings.load_profile("house")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failed one: nothing may be left out unseen."""
    report = yield
    if in_ci() and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
