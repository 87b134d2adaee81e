"""`@pipeline`: a function from a SparkSession to a writer that is not started yet.

    from headrace.spark import main, pipeline

    @pipeline
    def copy(spark):
        events = spark.readStream.format("headrace").option("subscribe", "orders").load()
        return events.writeStream.format("headrace").option("topic", "copy")

    if __name__ == "__main__":
        main()

The decorator leaves the function as it is, so that a test can call it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from headrace.spark.errors import PipelineError

Function = TypeVar("Function", bound=Callable[..., Any])

#: A pipeline with nothing to do asks the broker ten times a second for records, which costs about
#: 6 % of a core. As fast as possible would cost twice that, and gain 50 ms in the middle.
DEFAULT_TRIGGER = "100 milliseconds"

_ATTRIBUTE = "__headrace_pipeline__"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_INTERVAL = re.compile(r"\s*\d+\s*[a-z]+\s*(\d+\s*[a-z]+\s*)*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A declared pipeline; its name is its query's, its directory's and, mostly, its group's."""

    name: str
    function: Callable[[Any], Any]
    group: str
    #: How often a batch starts, in Spark's words ("1 second").
    trigger: str = DEFAULT_TRIGGER
    output_mode: str | None = None
    #: Options of the query, besides those of its sink.
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def file(self) -> str:
        return self.function.__code__.co_filename

    @property
    def line(self) -> int:
        return self.function.__code__.co_firstlineno

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


@overload
def pipeline(function: Function, /) -> Function: ...


@overload
def pipeline(
    *,
    name: str | None = None,
    group: str | None = None,
    trigger: str = DEFAULT_TRIGGER,
    output_mode: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Callable[[Function], Function]: ...


def pipeline(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    group: str | None = None,
    trigger: str = DEFAULT_TRIGGER,
    output_mode: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Any:
    """Declare a pipeline: `@pipeline`, or `@pipeline(name="orders", trigger="1 second")`."""

    def declare(target: Callable[..., Any]) -> Callable[..., Any]:
        chosen = name or target.__name__
        _check(chosen, trigger)
        declared = Pipeline(
            chosen, target, group or chosen, trigger, output_mode, dict(options or {})
        )
        setattr(target, _ATTRIBUTE, declared)
        return target

    return declare if function is None else declare(function)


def declared_in(values: Iterable[Any]) -> list[Pipeline]:
    """The pipelines among the values of a module, in the order of the file; twice the same is one.

    Two functions with one name are refused: they would share a checkpoint. So are two with one
    group: each would take the other's offsets for its own, and its marks of finished batches away.
    """
    found: dict[int, Pipeline] = {}
    for value in values:
        declared = getattr(value, _ATTRIBUTE, None) if callable(value) else None
        if isinstance(declared, Pipeline):
            found[id(declared)] = declared
    by_name: dict[str, Pipeline] = {}
    for declared in found.values():
        other = by_name.setdefault(declared.name, declared)
        if other is not declared:
            raise PipelineError(
                f"Two pipelines are named {declared.name} ({_where(other)} and {_where(declared)}):"
                ' give one of them another name, with @pipeline(name="...").'
            )
    by_group: dict[str, Pipeline] = {}
    for declared in by_name.values():
        other = by_group.setdefault(declared.group, declared)
        if other is not declared:
            raise PipelineError(
                f"Pipelines {other.name} and {declared.name} share the group {declared.group}: give"
                " each its own, since a group shows how far one of them is."
            )
    return list(by_name.values())


def _where(declared: Pipeline) -> str:
    return f"{declared.file}, line {declared.line}"


def _check(name: str, trigger: str) -> None:
    if not _NAME.fullmatch(name):
        raise PipelineError(
            f"{name!r} cannot be the name of a pipeline: it names a directory and a group, so take"
            " letters, digits, dots, dashes and underscores."
        )
    if not _INTERVAL.fullmatch(trigger):
        raise PipelineError(
            f"The trigger of pipeline {name} is {trigger!r}: write an interval such as"
            ' "1 second" or "500 milliseconds".'
        )
