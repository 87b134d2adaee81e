"""Which plans keep state; the texts are Spark 4.3's."""

import pytest

from headrace.spark.pipelines.plans import keeps_state

_READ = "~StreamingRelationV2 headrace, [subscribe=t], [key#1, value#2]"


@pytest.mark.parametrize(
    "plan",
    [
        f"~Aggregate [key#1], [key#1, count(1) AS count#3L]\n+- {_READ}",
        f"~Project [key#1]\n+- ~Deduplicate [key#1]\n   +- {_READ}",
        f"~Project [key#1]\n+- ~DeduplicateWithinWatermark [key#1]\n   +- {_READ}",
        f"~TransformWithStateInPySpark f(key#1), [key#1]\n+- {_READ}",
        f"~FlatMapGroupsInPandasWithState f(key#1)\n+- {_READ}",
        f"~Join Inner, (key#1 = key#4)\n:- ~Project [key#1]\n:  +- {_READ}\n+- {_READ}",
    ],
)
def test_what_remembers_rows_keeps_state(plan: str) -> None:
    assert keeps_state(plan)


@pytest.mark.parametrize(
    "plan",
    [
        f"~Project [key#1]\n+- ~Filter (key#1 = 2)\n   +- {_READ}",
        f"~Union false, false\n:- {_READ}\n+- {_READ}",
        f"~Join Inner, (key#1 = key#4)\n:- {_READ}\n+- Aggregate [key#4], [key#4]\n   +- Relation",
        f"~Project [name#1 AS ~Aggregate#3]\n+- {_READ}",
    ],
)
def test_what_looks_at_each_row_alone_keeps_none(plan: str) -> None:
    assert not keeps_state(plan)
