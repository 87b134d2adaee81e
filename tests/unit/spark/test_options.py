"""The options of a source: Spark's names, and one sentence for each mistake."""

import pytest

from headrace.spark.durations import parse_duration_ms
from headrace.spark.errors import OptionError
from headrace.spark.offset_specs import EARLIEST_SPEC, LATEST_SPEC
from headrace.spark.options import SourceOptions

BROKER = {"kafka.bootstrap.servers": "localhost:9092"}


def stream(**options: str) -> SourceOptions:
    return SourceOptions.parse({**BROKER, **options}, is_streaming=True)


def batch(**options: str) -> SourceOptions:
    return SourceOptions.parse({**BROKER, **options}, is_streaming=False)


def test_a_stream_begins_at_the_end_and_a_batch_reads_everything() -> None:
    assert stream(subscribe="a").starting == LATEST_SPEC
    assert batch(subscribe="a").starting == EARLIEST_SPEC
    assert batch(subscribe="a").ending == LATEST_SPEC


def test_topics_are_named_once_each_whatever_the_spaces() -> None:
    assert stream(subscribe=" a, b,a ,").subscription.topics == ("a", "b")
    assert stream(subscribePattern="a.*").subscription.pattern == "a.*"
    assigned = stream(assign='{"a":[1,0,1],"b":[2]}').subscription.assigned
    assert assigned == {"a": (0, 1), "b": (2,)}


def test_option_names_have_no_case() -> None:
    parsed = stream(SUBSCRIBE="a", maxoffsetspertrigger="7", INCLUDEHEADERS="TRUE")
    assert parsed.max_offsets_per_trigger == 7
    assert parsed.include_headers


def test_offsets_times_and_their_order() -> None:
    parsed = batch(subscribe="a", startingOffsets='{"a":{"0":5,"1":-2}}')
    assert parsed.starting.offsets == {("a", 0): 5, ("a", 1): -2}
    parsed = batch(subscribe="a", startingOffsetsByTimestamp='{"a":{"0":99}}')
    assert parsed.starting.timestamps == {("a", 0): 99}
    assert not parsed.starting.latest_if_none
    parsed = batch(subscribe="a", startingTimestamp="77", startingOffsets="latest")
    assert parsed.starting.timestamp == 77
    parsed = stream(
        subscribe="a", startingTimestamp="77", startingOffsetsByTimestampStrategy="latest"
    )
    assert parsed.starting.latest_if_none
    assert batch(subscribe="a", endingTimestamp="88").ending.latest_if_none


def test_settings_of_kafka_pass_through() -> None:
    parsed = stream(
        subscribe="a",
        **{"kafka.isolation.level": "read_committed", "kafka.max.partition.fetch.bytes": "1000"},
    )
    assert parsed.read.read_committed
    assert parsed.read.fetch_bytes == 1000
    assert parsed.read.kafka["isolation.level"] == "read_committed"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "exactly one of"),
        ({"subscribe": "a", "assign": "{}"}, "exactly one of"),
        ({"subscribe": " , "}, "names no topic"),
        ({"subscribePattern": "("}, "no regular expression"),
        ({"assign": "[]"}, "assign is JSON"),
        ({"assign": '{"a":["x"]}'}, "assign is JSON"),
        ({"assign": '{"a":[]}'}, "names no partition"),
        ({"subscribe": "a", "startingOffsets": "first"}, "startingOffsets is earliest"),
        ({"subscribe": "a", "startingOffsets": '{"a":{"0":-3}}'}, "no offset of a-0"),
        ({"subscribe": "a", "startingOffsets": '{"a":5}'}, "startingOffsets is"),
        ({"subscribe": "a", "startingTimestamp": "noon"}, "time in milliseconds"),
        ({"subscribe": "a", "startingOffsetsByTimestamp": '{"a":{"0":-1}}'}, "not negative"),
        ({"subscribe": "a", "startingOffsetsByTimestampStrategy": "x"}, "error or latest"),
        ({"subscribe": "a", "maxOffsetsPerTrigger": "0"}, "above 0"),
        ({"subscribe": "a", "failOnDataLoss": "maybe"}, "true or false"),
        ({"subscribe": "a", "maxTriggerDelay": "soon"}, "duration"),
        ({"subscribe": "a", "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "5"}, "larger"),
        ({"subscribe": "a", "endingOffsets": "latest"}, "no end"),
        ({"subscribe": "a", "kafka.auto.offset.reset": "latest"}, "use the option startingOffsets"),
        ({"subscribe": "a", "kafka.isolation.level": "x"}, "read_committed"),
        ({"subscribe": "a", "kafka.bootstrap.servers": "nowhere"}, "host:port"),
        ({"subscribe": "a", "kafka.bootstrap.servers": " "}, "is missing"),
        ({"subscribe": "a", "kafka.security.protocol": "X"}, "security.protocol"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(
    options: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    with pytest.raises(OptionError, match=sentence):
        stream(**options)


def test_who_names_no_brokers_reads_from_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "environment:9092")
    named = {"subscribe": "orders", "kafka.bootstrap.servers": "named:9092"}
    found = SourceOptions.parse(named, is_streaming=True)
    assert found.read.kafka["bootstrap.servers"] == "named:9092"
    del named["kafka.bootstrap.servers"]
    found = SourceOptions.parse(named, is_streaming=True)
    # In the settings themselves: tasks elsewhere have another environment.
    assert found.read.kafka["bootstrap.servers"] == "environment:9092"


def test_a_batch_has_to_have_something_to_read() -> None:
    with pytest.raises(OptionError, match="startingOffsets can't be latest"):
        batch(subscribe="a", startingOffsets="latest")
    with pytest.raises(OptionError, match="endingOffsets can't be earliest"):
        batch(subscribe="a", endingOffsets="earliest")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15m", 900_000),
        ("100", 100),
        ("2 hours", 7_200_000),
        ("1 min", 60_000),
        ("3days", 259_200_000),
    ],
)
def test_durations_as_spark_writes_them(text: str, expected: int) -> None:
    assert parse_duration_ms("x", text) == expected
