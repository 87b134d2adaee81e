"""What a load shows while it runs, on stderr: one line drawn anew on a terminal, else a few."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.spark.pipelines.table import number

_DRAW_SECONDS = 0.5


class Progress:
    """How far a load is; sentences stay, the line with the numbers does not."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._is_live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._offsets: int | None = None
        self._over = threading.Event()

    def say(self, sentence: str) -> None:
        sys.stderr.write(f"\r\x1b[K{sentence}\n" if self._is_live else f"{sentence}\n")
        sys.stderr.flush()

    def begin(self, offsets: int) -> None:
        """So many offsets are to be loaded."""
        self._offsets = offsets
        if offsets and not self._is_live:
            self.say(f"{self._topic}: {number(offsets)} offsets to load.")

    @contextmanager
    def following(self, spark: Any) -> Iterator[None]:
        drawing = threading.Thread(target=self._draw, args=(spark,), daemon=True)
        if self._is_live:
            drawing.start()
        try:
            yield
        finally:
            self._over.set()
            if self._is_live:
                drawing.join()
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    def _draw(self, spark: Any) -> None:
        tracker = spark.sparkContext.statusTracker()
        begun = time.monotonic()
        while not self._over.wait(_DRAW_SECONDS):
            if not self._offsets:
                continue
            tasks = ""
            with contextlib.suppress(Exception):  # of a Spark that is ending
                stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
                found = [stage for stage in stages if stage is not None]
                if found:
                    done = sum(stage.numCompletedTasks for stage in found)
                    tasks = f", {done} of {sum(stage.numTasks for stage in found)} tasks"
            text = f"{self._topic}: {number(self._offsets)} offsets{tasks}"
            sys.stderr.write(f"\r\x1b[K{text}, {time.monotonic() - begun:.0f} s")
            sys.stderr.flush()
