"""A pipeline's function, called: what it gives must be a writer that nobody has started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.context import Running, being_built
from headrace.spark.pipelines.declaration import Pipeline
from headrace.spark.pipelines.failures import explain
from headrace.spark.pipelines.loading import describe_in, place_in
from headrace.spark.pipelines.plans import keeps_state
from headrace.spark.pipelines.reading import Completion, PipelineSession, Read


@dataclass(frozen=True, slots=True)
class Built:
    """A pipeline's query, ready to be started."""

    writer: Any
    reads: list[Read]
    keeps_state: bool


def build(pipeline: Pipeline, spark: Any, running: Running, completion: Completion) -> Built:
    """Call the function; whatever goes wrong in it is told with the user's own line."""
    completion.reads.clear()
    session = PipelineSession(spark, completion)
    try:
        with being_built(running):
            writer = pipeline.function(session)
    except PipelineError as error:
        raise PipelineError(f"Pipeline {pipeline.name}: {error}") from error
    except Exception as error:
        raise PipelineError(f"Pipeline {pipeline.name}: {_sentence(error, pipeline)}") from error
    _check(pipeline, writer)
    return Built(writer, list(completion.reads), keeps_state(_plan(writer)))


def _sentence(error: Exception, pipeline: Pipeline) -> str:
    """Spark's exceptions hold whole plans and stacks; Python's are short."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException | Py4JError):
        return describe_in(error, pipeline.file)
    place = place_in(error, pipeline.file)
    return f"{explain(str(error), pipeline.name).sentence} ({place})"


def _check(pipeline: Pipeline, writer: Any) -> None:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

    if isinstance(writer, DataStreamWriter):
        return
    ending = "end it with `return df.writeStream...` or `return to_topic(df, ...)`"
    if isinstance(writer, StreamingQuery):
        writer.stop()
        what = "started its query itself: leave .start() away, the runner starts it"
    elif isinstance(writer, DataFrame):
        what = f"returned a DataFrame, which says nothing of where it goes: {ending}"
    elif writer is None:
        what = f"returned nothing: {ending}"
    else:
        what = f"returned a {type(writer).__name__}: {ending}"
    raise PipelineError(f"Pipeline {pipeline.name} ({pipeline.file}, line {pipeline.line}) {what}.")


def _plan(writer: Any) -> str:
    return str(writer._df._jdf.queryExecution().analyzed().toString())
