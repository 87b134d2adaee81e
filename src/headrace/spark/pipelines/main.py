"""`main()`: the last line of a file with pipelines, for `python FILE` and `spark-submit FILE`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from headrace.base.errors import KafkaError
from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.display import Display
from headrace.spark.pipelines.loading import choose, pipelines_of
from headrace.spark.pipelines.requirements import check_requirements
from headrace.spark.pipelines.run_arguments import add_run_arguments, run_plan


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the pipelines of the file that calls this; takes the options of `pipelines run`."""
    caller = sys._getframe(1)
    file = str(caller.f_globals.get("__file__", sys.argv[0]))
    parser = argparse.ArgumentParser(
        prog=os.path.basename(file), description="Run the pipelines of this file."
    )
    add_run_arguments(parser)
    args = parser.parse_args(argv)
    try:
        pipelines = choose(pipelines_of(list(caller.f_globals.values()), file), args.names)
        check_requirements()
        from headrace.spark.pipelines.runner import run

        code = run(run_plan(args, file, pipelines), Display())
    except (PipelineError, KafkaError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        code = 1
    sys.exit(code)
