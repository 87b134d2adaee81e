"""The server-side assignors by their names."""

from __future__ import annotations

from headrace.groups.consumer.assignors.range import assign_range
from headrace.groups.consumer.assignors.spec import Assignor
from headrace.groups.consumer.assignors.uniform import assign_uniform

ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
