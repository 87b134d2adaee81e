"""Order processing, live: `make demo`.

Starts a platform of its own (a node, a schema registry, a REST proxy), the orders service, the
e-mail sender, the search view and the Spark pipelines, sends orders for a minute, shows what
happens to them, and checks at the end that every order is accounted for, once. Nothing is left
running or on the disk.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from examples.orders.demo.audit import Outcome, problems
from examples.orders.demo.ledger import Ledger, Reader
from examples.orders.demo.processes import ProcessError
from examples.orders.demo.screen import Moment, Screen
from examples.orders.demo.stage import Stage
from examples.orders.load import Load
from examples.orders.topics import Values
from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.requirements import check_java, check_pyspark

SEARCHES = ("truffles", "tea FAILED", "mallory FAILED", "bread VALIDATED")
_SETTLE_SECONDS = 120
_ALL = 1_000_000


def run(directory: Path, seconds: float, rate: float, stop: threading.Event) -> int:
    screen, stage = Screen(), Stage(directory, stop)
    try:
        screen.say("Starting, in a directory that goes away:")
        stage.start(screen.say)
        if stop.is_set():
            return 130
        outcome = flow(stage, screen, Load(stage.service, rate), seconds, stop)
        return 130 if outcome is None else summary(outcome, screen)
    except ProcessError as error:
        screen.say(f"NOT WELL: {error}")
        return 1
    finally:
        stop.set()
        stage.close()
        screen.say("All processes have ended.")


def flow(
    stage: Stage, screen: Screen, load: Load, seconds: float, stop: threading.Event
) -> Outcome | None:
    """Orders for so long, until all that they cause has happened; None if it was cut short."""
    reader = Reader(stage.bootstrap, Values(stage.registry))
    reader.start()
    posting = threading.Thread(target=load.run, args=(seconds, stop), daemon=True)
    posting.start()
    begun = time.monotonic()
    is_over = False
    try:
        while not is_over and not stop.wait(0.25):
            stage.check()
            elapsed_s = time.monotonic() - begun
            counts = len(load.posted), stage.mails.total(), stage.search.count()
            is_over = not posting.is_alive() and (
                is_settled(reader.ledger, *counts) or elapsed_s > seconds + _SETTLE_SECONDS
            )
            screen.show(Moment(elapsed_s, *counts, reader.ledger, stage.statuses()), now=is_over)
        if stop.is_set():
            return None
        found = searched(stage.service)
        # What their last batches still wrote would be a result too many, and is read, too.
        stage.processes.stop("pipelines")
    finally:
        reader.stop()
    return Outcome(load.posted, reader.ledger, stage.mails, *found, load.failure)


def is_settled(ledger: Ledger, posted: int, mails: int, searchable: int) -> bool:
    """Whether all that so many orders cause has happened."""
    return ledger.is_settled(posted) and min(mails, searchable) >= posted


def searched(service: str) -> tuple[dict[str, str], dict[str, int]]:
    """What the service finds: the state of each order, and how many have some words."""

    def get(query: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{service}/orders?{query}&limit={_ALL}", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)
            return found

    states = {order["id"]: order["state"] for order in get("q=")}
    return states, {words: len(get(f"q={quote(words)}")) for words in SEARCHES}


def summary(outcome: Outcome, screen: Screen) -> int:
    """What came of it; the exit code."""
    ledger, states = outcome.ledger, outcome.ledger.states
    found = problems(outcome)
    for problem in found:
        screen.say(f"NOT WELL: {problem}")
    if found:
        return 1
    reasons = Counter(events[-1]["reason"] for events in ledger.orders.values())
    screen.say(
        f"{len(outcome.posted):,} orders posted, each accounted for once:"
        f" {states['VALIDATED']:,} validated, {states['FAILED']:,} failed.\n"
        f"{sum(map(len, ledger.validations.values())):,} checks, {len(ledger.decisions):,}"
        f" decisions, {sum(outcome.mails.values()):,} mails, {len(outcome.found):,} orders in the"
        f" search view: none missing, none twice.\n"
        f"Revenue {ledger.revenue_cents() / 100:,.2f} as the valid orders add up;"
        f" {len(ledger.late):,} late orders set aside.\n"
        "Why orders failed: "
        + "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common() if reason)
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long orders come")
    parser.add_argument("--rate", type=float, default=30.0, help="orders a second")
    parser.add_argument(
        "--check-java", action="store_true", help="only say whether there is a Java for Spark"
    )
    args = parser.parse_args()
    try:
        # Java first: it is what pip cannot bring.
        check_java()
        if args.check_java:
            return 0
        check_pyspark()
    except PipelineError as error:
        print(error)
        return 1
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as directory:
        return run(Path(directory), args.seconds, args.rate, stop)


if __name__ == "__main__":
    sys.exit(main())
