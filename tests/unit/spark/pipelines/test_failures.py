"""Spark's exceptions, as Spark 4.3 words them, and the sentence that is left of each."""

import pytest

from headrace.spark.pipelines.failures import explain

_HEAD = "[STREAM_FAILED] Query [id = 9bcb, runId = 8c0d] terminated with exception: "
_TAIL = """ SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 9bcb, runId = 8c0d]
Current Committed Offsets: {}

Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink
"""
_FOREACH = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function \
in foreach batch sink. Reason: An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/orders.py", line 24, in bad
    raise ValueError("poison value 17")
ValueError: poison value 17
"""


def test_an_error_of_the_users_function_is_told_with_its_line() -> None:
    failure = explain(_HEAD + _FOREACH + _TAIL)
    line = 'raise ValueError("poison value 17")'
    assert failure.sentence == f"ValueError: poison value 17 (orders.py, line 24: {line})"
    assert not failure.passes


def test_a_sentence_of_ours_stands_alone() -> None:
    trace = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/headrace/spark/source.py", line 63, in latestOffset
    raise DataLossError(text)
headrace.spark.errors.DataLossError: Offsets 0 to 9 of orders-0 are gone.
"""
    failure = explain(
        _HEAD + "[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed: " + trace + _TAIL
    )
    assert failure.sentence == "Offsets 0 to 9 of orders-0 are gone."
    assert not failure.passes


@pytest.mark.parametrize(
    "cause",
    [
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "headrace.client.errors.UnreachableError: Cannot connect to localhost:9092.",
        "headrace.base.errors.KafkaError: NOT_LEADER_OR_FOLLOWER",
        "headrace.spark.errors.PipelineError: No broker can be reached at h:9092 (no route).",
        "headrace.spark.errors.PipelineError: Offset 5: The broker at h:1 closed the connection.",
        "headrace.spark.errors.PipelineError: 5 records: The broker at h:1 did not answer in time.",
        "headrace.spark.stores.errors.StoreUnavailable: PostgreSQL at h:5432: it is starting up.",
        "psycopg.OperationalError: connection failed",
        "redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379.",
    ],
)
def test_somebody_who_is_away_may_come_back(cause: str) -> None:
    trace = f'Traceback (most recent call last):\n  File "<string>", line 1, in f\n{cause}\n'
    assert explain(_HEAD + trace + _TAIL).passes


def test_a_topic_that_is_gone_does_not_come_back_by_waiting() -> None:
    cause = "headrace.base.errors.KafkaError: UNKNOWN_TOPIC_OR_PARTITION"
    trace = f'Traceback (most recent call last):\n  File "<string>", line 1, in f\n{cause}\n'
    assert not explain(_HEAD + trace + _TAIL).passes


def test_of_chained_errors_the_last_one_is_told() -> None:
    trace = """Traceback (most recent call last):
  File "/home/me/orders.py", line 3, in f
    g()
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/me/orders.py", line 5, in f
    raise RuntimeError("no x")
RuntimeError: no x
"""
    expected = 'RuntimeError: no x (orders.py, line 5: raise RuntimeError("no x"))'
    assert explain(_HEAD + trace + _TAIL).sentence == expected


def test_of_chained_errors_one_of_ours_says_more() -> None:
    trace = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/headrace/spark/options.py", line 3, in parse
    raise OptionError(text)
headrace.spark.errors.OptionError: Option subscribe names no topic.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/pyspark/runner.py", line 9, in main
UnboundLocalError: cannot access local variable 'reader'
"""
    assert explain(_HEAD + trace + _TAIL).sentence == "Option subscribe names no topic."


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            (
                "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match"
                " existing state key schema.\nPlease check number and type of fields."
            ),
            "what it groups, joins or deduplicates by has changed",
        ),
        (
            (
                "[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful"
                " operator name does not match with the operator in state metadata."
            ),
            "it groups, joins or deduplicates elsewhere than before",
        ),
        (
            (
                "assertion failed: There are [1] sources in the checkpoint offsets and now there"
                " are [2] sources requested by the query. Cannot continue."
            ),
            "the number of its sources was 1 and is 2 now",
        ),
    ],
)
def test_a_changed_pipeline_is_told_what_to_do(text: str, meaning: str) -> None:
    failure = explain(_HEAD + text + _TAIL, "orders")
    assert failure.is_change
    assert meaning in failure.sentence
    assert "`headrace pipelines reset orders --state`" in failure.sentence


def test_a_full_disk_is_named() -> None:
    text = (
        "An error occurred while calling o3.start.\n: java.io.IOException: No space left on device"
    )
    assert explain(text + "\n\tat a.b.C(D.scala:1)").sentence.startswith("The disk below its check")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "[STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION] Invalid streaming output mode:"
                " append. SQLSTATE: 42KDE"
            ),
            "Invalid streaming output mode: append.",
        ),
        (
            (
                "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `nope` cannot be resolved."
                " SQLSTATE: 42703;\n'Project ['nope]\n+- ~StreamingRelationV2 org.apache"
            ),
            "A column with name `nope` cannot be resolved.",
        ),
        (
            (
                "An error occurred while calling o359.load.\n: org.apache.spark."
                "SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find the data"
                " source: x. SQLSTATE: 42K02\n\tat org.apache.spark.sql.errors.A(A.scala:7)"
            ),
            "Failed to find the data source: x.",
        ),
        ("", "It failed without a word."),
    ],
)
def test_sparks_own_sentence_is_left_without_codes_plans_and_stacks(
    text: str, expected: str
) -> None:
    assert explain(text).sentence == expected
