"""`headrace pipelines run|load|list|status|describe|reset|stop`: pipelines on Spark.

Only `run` and `load` need Spark and Java; the others read the state directory, and ask brokers
where that is the question.
"""

from __future__ import annotations

import argparse

from headrace.cli.failure import CommandFailedError
from headrace.cli.output import add_output_argument
from headrace.cli.pipelines_load import add_load_parser, load
from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.run_arguments import add_run_arguments, add_state_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    run_parser = actions.add_parser("run", help="run the pipelines of a file until Ctrl-C")
    run_parser.add_argument("file", metavar="FILE", help="a Python file with @pipeline functions")
    add_run_arguments(run_parser)
    add_load_parser(actions)
    listing = actions.add_parser("list", help="the pipelines that have run, and their state")
    status = actions.add_parser("status", help="how they go: rates, lag, batch times, state")
    status.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    status.add_argument(
        "--watch", action="store_true", help="show it again every second until Ctrl-C"
    )
    describe = actions.add_parser("describe", help="all about one: sources, checkpoint, batches")
    describe.add_argument("name", metavar="NAME")
    stop = actions.add_parser("stop", help="let the running batch end, then stop")
    stop.add_argument("names", nargs="+", metavar="NAME")
    stop.add_argument(
        "--timeout", type=float, default=90.0, metavar="SECONDS", help="how long to wait (90)"
    )
    reset = actions.add_parser("reset", help="choose where a stopped pipeline starts next")
    _add_reset_arguments(reset)
    for each in (listing, status, describe, stop, reset):
        add_state_argument(each)
    for each in (listing, status, describe):
        add_output_argument(each)


def _add_reset_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--state",
        action="store_true",
        help="drop what the pipeline keeps (counts, windows, joins); needed to move one that keeps"
        " state",
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="properties file for the connection, where brokers ask for passwords: the record of a"
        " pipeline keeps none",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--to-earliest", action="store_true", help="the first records there are")
    where.add_argument("--to-latest", action="store_true", help="only records that come from now")
    where.add_argument("--to-offset", type=int, metavar="N", help="this offset in each partition")
    where.add_argument("--shift-by", type=int, metavar="N", help="so many records on, or back (-N)")
    where.add_argument(
        "--to-datetime", metavar="TIME", help="the first record of a time: YYYY-MM-DDTHH:mm:SS.sss"
    )
    where.add_argument(
        "--by-duration", metavar="DURATION", help="so long ago: PT1H30M, P1D (ISO 8601)"
    )
    where.add_argument(
        "--to-checkpoint",
        action="store_true",
        help="put the group back to where the pipeline stands",
    )


def run(args: argparse.Namespace) -> int:
    try:
        if args.action == "run":
            return _run(args)
        if args.action == "load":
            return load(args)
        if args.action == "reset":
            from headrace.cli.pipelines_reset import reset

            return reset(args)
        if args.action == "stop":
            from headrace.cli.pipelines_stop import stop

            return stop(args)
        from headrace.cli import pipelines_show

        shown = {
            "list": pipelines_show.list_pipelines,
            "status": pipelines_show.status,
            "describe": pipelines_show.describe,
        }
        return shown[args.action](args)
    except PipelineError as error:
        raise CommandFailedError(str(error)) from error


def _run(args: argparse.Namespace) -> int:
    from headrace.spark.pipelines.display import Display
    from headrace.spark.pipelines.loading import choose, load_pipelines
    from headrace.spark.pipelines.requirements import check_requirements
    from headrace.spark.pipelines.run_arguments import run_plan

    check_requirements()
    pipelines = choose(load_pipelines(args.file), args.names)
    from headrace.spark.pipelines.runner import run as run_all

    return run_all(run_plan(args, args.file, pipelines), Display())
