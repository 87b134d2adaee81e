"""Which runs of tests may be followed by another one, in runs of small trees of their own."""

from __future__ import annotations

import pytest

from tests.support.second_chance import MAY_RUN_AGAIN
from tests.support.tools import REPOSITORY

pytest_plugins = ["pytester"]

_PASSES = "def test_it(): pass\n"
_FAILS = "def test_it(): assert 0\n"
_FAILS_FOR_GOOD = f"import pytest\n\n@pytest.mark.no_second_chance\n{_FAILS}"
_BREAKS_BEFORE = (
    "import pytest\n\n@pytest.fixture\ndef broken(): 1 / 0\n\ndef test_it(broken): pass\n"
)
_ENDS_ITS_PROCESS = "import os\n\ndef test_it(): os._exit(1)\n"
_CANNOT_BE_IMPORTED = "import no_such_module\n"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    pytester.plugins = ["xdist", "tests.support.second_chance"]
    pytester.makeini("[pytest]\nmarkers =\n  no_second_chance")
    return pytester


def exit_code(run: pytest.Pytester, **modules: str) -> int:
    """Of a run of tests with these modules, each below the directory that it is named after."""
    for part, text in modules.items():
        path = run.path / "tests" / part
        path.mkdir(parents=True)
        (path / f"test_{part}.py").write_text(text)
    # In a worker, as `make test` has it: there pytest goes on when a module cannot be imported.
    return run.runpytest_subprocess("-n", "1").ret


@pytest.mark.parametrize("part", ["clients", "interop", "pipelines"])
@pytest.mark.parametrize("text", [_FAILS, _BREAKS_BEFORE], ids=["call", "setup"])
def test_failures_with_real_processes_may_run_again(
    run: pytest.Pytester, part: str, text: str
) -> None:
    assert exit_code(run, **{part: text, "unit": _PASSES}) == MAY_RUN_AGAIN


@pytest.mark.parametrize(
    "beside",
    [
        {"unit": _FAILS},
        {"pipelines": _FAILS_FOR_GOOD},
        {"pipelines": _ENDS_ITS_PROCESS},
        {"pipelines": _CANNOT_BE_IMPORTED},
        {"unit": _CANNOT_BE_IMPORTED},
    ],
    ids=["unit test", "marked", "worker died", "not imported", "unit test not imported"],
)
def test_one_other_failure_is_final_for_all(run: pytest.Pytester, beside: dict[str, str]) -> None:
    assert exit_code(run, clients=_FAILS, **beside) == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("text", [_FAILS_FOR_GOOD, _ENDS_ITS_PROCESS, _CANNOT_BE_IMPORTED])
def test_a_final_failure_alone_is_final(run: pytest.Pytester, text: str) -> None:
    assert exit_code(run, clients=text, unit=_PASSES) == pytest.ExitCode.TESTS_FAILED


def test_a_run_without_failures_ends_as_ever(run: pytest.Pytester) -> None:
    assert exit_code(run, clients=_PASSES) == pytest.ExitCode.OK
