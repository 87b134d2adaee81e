"""Pipelines as users declare them, and files that declare none or too many."""

from pathlib import Path

import pytest

from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.declaration import DEFAULT_TRIGGER, declared_in, pipeline
from headrace.spark.pipelines.loading import LoadError, choose, load_pipelines

_ONE = """
from headrace.spark import pipeline

@pipeline
def orders(spark):
    "Copies orders."
"""


def write(path: Path, text: str) -> str:
    file = path / "orders.py"
    file.write_text(text)
    return str(file)


def test_a_bare_decorator_takes_the_functions_name(tmp_path: Path) -> None:
    (found,) = load_pipelines(write(tmp_path, _ONE))
    assert (found.name, found.group, found.trigger) == ("orders", "orders", DEFAULT_TRIGGER)
    assert found.summary == "Copies orders."
    assert found.line == 4


def test_the_function_stays_a_function() -> None:
    @pipeline(name="other", group="theirs", trigger="2 seconds")
    def double(spark: int) -> int:
        return 2 * spark

    assert double(4) == 8
    (found,) = declared_in([double, double, 7, None])
    assert (found.name, found.group, found.trigger) == ("other", "theirs", "2 seconds")


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "-x", "ä"])
def test_a_name_that_is_no_directory_is_refused(name: str) -> None:
    with pytest.raises(PipelineError, match="cannot be the name of a pipeline"):
        pipeline(name=name)(lambda spark: None)


def test_a_trigger_must_be_an_interval() -> None:
    with pytest.raises(PipelineError, match='"1 second"'):
        pipeline(name="x", trigger="often")(lambda spark: None)


def test_two_pipelines_of_one_name_are_refused(tmp_path: Path) -> None:
    text = _ONE + "\n@pipeline(name='orders')\ndef again(spark): ...\n"
    with pytest.raises(LoadError, match=r"Two pipelines are named orders .*line 4.*line 8"):
        load_pipelines(write(tmp_path, text))


def test_two_pipelines_of_one_group_are_refused(tmp_path: Path) -> None:
    text = _ONE + "\n@pipeline(group='orders')\ndef again(spark): ...\n"
    with pytest.raises(LoadError, match="orders and again share the group orders"):
        load_pipelines(write(tmp_path, text))


def test_a_file_without_pipelines_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="declares no pipeline: put @pipeline"):
        load_pipelines(write(tmp_path, "x = 1\n"))


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="There is no file"):
        load_pipelines(str(tmp_path / "none.py"))
    with pytest.raises(LoadError, match="is a directory"):
        load_pipelines(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import math\nmath.nonsense(3)\n", r"AttributeError.*orders.py, line 2: math.nonsense"),
        ("def broken(:\n    pass\n", r"SyntaxError: [^()]*\(orders.py, line 1: def broken"),
        ("def f():\n    return 1 / 0\nf()\n", r"ZeroDivisionError.*line 2: return 1 / 0"),
        ("import no_such_module_here\n", r"ModuleNotFoundError.*line 1: import no_such"),
        ("raise SystemExit(3)\n", "ended the program while it was loaded"),
        (
            "from headrace.spark import pipeline\n@pipeline(trigger='x')\ndef f(s): ...\n",
            "orders.py, line 2.*trigger",
        ),
    ],
)
def test_an_error_in_the_file_shows_the_users_own_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    with pytest.raises(LoadError, match=expected):
        load_pipelines(write(tmp_path, text))


def test_what_lies_beside_the_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "beside_the_orders.py").write_text("NAME = 'from-beside'\n")
    text = "import beside_the_orders\nfrom headrace.spark import pipeline\n"
    text += "@pipeline(name=beside_the_orders.NAME)\ndef f(spark): ...\n"
    assert [p.name for p in load_pipelines(write(tmp_path, text))] == ["from-beside"]


def test_names_choose_among_the_pipelines(tmp_path: Path) -> None:
    found = load_pipelines(write(tmp_path, _ONE + "\n@pipeline\ndef counts(spark): ...\n"))
    assert [p.name for p in choose(found, [])] == ["orders", "counts"]
    assert [p.name for p in choose(found, ["counts", "counts"])] == ["counts"]
    with pytest.raises(LoadError, match="no pipeline nobody in the file, but orders, counts"):
        choose(found, ["nobody"])
