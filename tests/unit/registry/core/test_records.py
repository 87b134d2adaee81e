"""The bytes of the schemas topic, which other registries read too."""

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from headrace.registry.core.records import (
    config_record,
    delete_subject_record,
    mode_record,
    noop_record,
    schema_key,
    schema_record,
)
from headrace.registry.core.schema import PROTOBUF, Reference, Schema, SchemaVersion
from headrace.registry.core.state import RegistryState
from headrace.registry.errors import RegistryError
from tests.unit.registry.replayed import Replayed, record_schema


def test_keys_have_the_fields_in_confluents_order() -> None:
    assert schema_key("s", 1) == b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}'
    assert config_record(None, {}).key == b'{"keytype":"CONFIG","magic":0}'
    assert mode_record("s", None).key == b'{"keytype":"MODE","subject":"s","magic":0}'
    assert noop_record({}).key == b'{"keytype":"NOOP","magic":0}'
    deletion = delete_subject_record("s", 3)
    assert deletion.key == b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}'
    assert deletion.value == b'{"subject":"s","version":3}'


def test_a_schemas_value_is_in_confluents_form() -> None:
    schema = Schema("message M {}", PROTOBUF, (Reference("a.proto", "a", 2),))
    value = json.loads(schema_record(SchemaVersion("s", 1, 7, schema, schema.guid)).value or b"")
    order = ["subject", "version", "id", "md5", "schemaType", "references", "schema", "deleted"]
    assert list(value) == order
    assert value["references"] == [{"name": "a.proto", "subject": "a", "version": 2}]


def test_records_of_other_makes_are_read() -> None:
    state = RegistryState()
    state.apply(
        b'{"keytype":"SCHEMA","subject":"t-value","version":1,"magic":1}',
        b'{"subject":"t-value","version":1,"id":4,"schema":"\\"string\\"","deleted":false,'
        b'"offset":1,"ts":3,"newer":{"x":1}}',
        5,
    )
    state.apply(b'{"keytype":"CONFIG","magic":0}', b'{"compatibilityLevel":"FULL"}', 6)
    state.apply(b'{"keytype":"NOOP","magic":0}', None, 7)
    state.apply(b'{"keytype":"ASSOC","tenant":"default"}', b'{"a":1}', 8)
    found = state.version("t-value", 1)
    assert found is not None
    assert (found.id, found.schema.text, found.timestamp) == (4, '"string"', 5)
    assert state.configs[None]["compatibilityLevel"] == "FULL"


def test_an_id_that_is_taken_keeps_its_first_schema() -> None:
    state = RegistryState()
    for subject, text in (("a", '"int"'), ("b", '"long"')):
        schema = Schema(text)
        record = schema_record(SchemaVersion(subject, 1, 1, schema, schema.guid))
        state.apply(record.key, record.value, 1)
    assert list(state.subjects) == ["a"]


@given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_what_is_no_record_of_ours_is_passed_over(key: bytes, value: bytes | None) -> None:
    state = RegistryState()
    state.apply(key, value, 1)
    assert state.subjects == {}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 3)), max_size=25))
def test_a_compacted_topic_replays_to_the_same_state(steps: list[tuple[int, int, int]]) -> None:
    """Whatever is done in whatever order, a registry that starts later knows the same."""
    replayed = Replayed()
    replayed.config(None, compatibility="NONE")
    for what, where, which in steps:
        subject = f"s{where}"
        with contextlib.suppress(RegistryError):
            if what < 3:
                replayed.register(subject, record_schema(*(f"f{n}" for n in range(which + 1))))
            elif what == 3:
                replayed.delete(subject, which + 1)
            else:
                replayed.delete(subject, permanent=what == 5)
    now, later = replayed.core.state, replayed.compacted()
    assert {
        (one.subject, one.version, one.id, one.deleted)
        for versions in now.subjects.values()
        for one in versions.values()
    } == {
        (one.subject, one.version, one.id, one.deleted)
        for versions in later.subjects.values()
        for one in versions.values()
    }
    assert now.highest_ids() == later.highest_ids()
    assert {c: i.by_id for c, i in now.contexts.items()} == {
        c: i.by_id for c, i in later.contexts.items()
    }
