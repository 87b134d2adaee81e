"""Ids, versions and compatibility of what is registered."""

import pytest

from headrace.registry.core.schema import JSON, Reference
from headrace.registry.errors import RegistryError
from tests.unit.registry.replayed import Replayed, record_schema


@pytest.fixture
def registry() -> Replayed:
    return Replayed()


def refused(registry: Replayed, *args: object, **named: object) -> int:
    with pytest.raises(RegistryError) as error:
        registry.register(*args, **named)  # type: ignore[arg-type]
    return error.value.code


def test_the_same_schema_in_another_layout_is_found_again(registry: Replayed) -> None:
    first = registry.register("s", record_schema("a"))
    again = registry.register("s", record_schema("a").replace(" ", "\n "))
    assert (again.id, again.version) == (first.id, 1)
    assert len(registry.log) == 1


def test_a_schema_has_one_id_under_all_subjects_of_a_context(registry: Replayed) -> None:
    first = registry.register("s", '"int"')
    registry.register("t", '"long"')
    assert registry.register("u", '"int"').id == first.id == 1
    assert registry.register("u", '"long"').version == 2
    assert registry.register(":.other:s", '"string"').id == 1


@pytest.mark.parametrize(
    ("level", "adds", "removes"),
    [
        ("NONE", True, True),
        ("BACKWARD", False, True),
        ("FORWARD", True, False),
        ("FULL", False, False),
        ("BACKWARD_TRANSITIVE", False, True),
        ("FORWARD_TRANSITIVE", True, False),
        ("FULL_TRANSITIVE", False, False),
    ],
)
def test_each_level_looks_in_its_direction(
    registry: Replayed, level: str, adds: bool, removes: bool
) -> None:
    """A field without a default: who may add it, and who may take it away?"""
    registry.config(None, compatibility=level)
    for subject, old, new, allowed in (
        ("adding", record_schema("a"), record_schema("a", "b"), adds),
        ("removing", record_schema("a", "b"), record_schema("a"), removes),
    ):
        registry.register(subject, old)
        if allowed:
            assert registry.register(subject, new).version == 2
        else:
            assert refused(registry, subject, new) == 409
        # What has a default can always come and go.
        if level != "NONE":
            latest = registry.core.state.versions(subject)[-1].schema.text
            names = ("a", "b", "c?") if '"b"' in latest else ("a", "c?")
            registry.register(subject, record_schema(*names))


def test_a_transitive_level_looks_at_all_versions(registry: Replayed) -> None:
    registry.register("s", record_schema("a"))
    registry.config("s", compatibility="NONE")
    registry.register("s", record_schema("a", "b"))
    newest = record_schema("a", "b", "c?")
    registry.config("s", compatibility="BACKWARD_TRANSITIVE")
    assert refused(registry, "s", newest) == 409
    registry.config("s", compatibility="BACKWARD")
    assert registry.register("s", newest).version == 3


def test_another_type_is_never_compatible(registry: Replayed) -> None:
    registry.register("s", '"int"')
    assert refused(registry, "s", '{"type":"integer"}', JSON) == 409


def test_the_global_level_holds_where_a_subject_has_none(registry: Replayed) -> None:
    registry.config(None, compatibility="NONE")
    registry.register("s", '"int"')
    registry.register("s", '"string"')
    registry.config("s", compatibility="FULL")
    assert refused(registry, "s", '"boolean"') == 409


def test_a_new_schema_takes_over_the_metadata_of_the_one_before(registry: Replayed) -> None:
    metadata = {"properties": {"owner": "ann"}}
    registry.register("s", record_schema("a"), metadata=metadata)
    newer = registry.register("s", record_schema("a", "b?"))
    assert newer.schema.metadata == metadata
    other = registry.register("s", record_schema("a", "b?"), metadata={"properties": {}})
    assert other.id != newer.id


def test_references_are_looked_up_and_must_exist(registry: Replayed) -> None:
    user = record_schema("name", name="User")
    text = '{"type":"record","name":"Order","fields":[{"name":"user","type":"User"}]}'
    reference = (Reference("User", "users", 1),)
    assert refused(registry, "orders", text, references=reference) == 42201
    registry.register("users", user)
    order = registry.register("orders", text, references=reference)
    # The same with the reference written out says the same.
    whole = text.replace('"User"', user)
    assert registry.register("orders", whole).version == order.version == 1
    with pytest.raises(RegistryError) as error:
        registry.delete("users")
    assert error.value.code == 42206


def test_ids_and_versions_of_ones_own_need_import_mode(registry: Replayed) -> None:
    assert refused(registry, "s", '"int"', id=7, version=3) == 42205
    registry.mode("s", "IMPORT")
    imported = registry.register("s", '"int"', id=7, version=3)
    assert (imported.id, imported.version) == (7, 3)
    assert refused(registry, "s", '"long"', id=7, version=4) == 42205
    assert refused(registry, "s", '"long"') == 42205
    registry.mode("s", "READWRITE")
    registry.config("s", compatibility="NONE")
    assert registry.register("s", '"string"').id == 8


def test_import_mode_needs_an_empty_place_unless_forced(registry: Replayed) -> None:
    registry.register("s", '"int"')
    with pytest.raises(RegistryError) as error:
        registry.mode("s", "IMPORT")
    assert error.value.code == 42205
    assert registry.mode("s", "IMPORT", force=True) == {"mode": "IMPORT"}


def test_nothing_is_written_in_read_only_mode(registry: Replayed) -> None:
    registry.register("s", '"int"')
    registry.mode(None, "READONLY")
    assert refused(registry, "s", '"long"') == 42205
    with pytest.raises(RegistryError):
        registry.delete("s")
    registry.mode("s", "READWRITE")
    registry.register("s", '"long"')
    registry.mode(None, "READONLY_OVERRIDE")
    assert refused(registry, "s", '"float"') == 42205


def test_bad_defaults_are_refused_in_new_schemas(registry: Replayed) -> None:
    bad = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    assert refused(registry, "s", bad) == 42201


@pytest.mark.parametrize(
    "text", ["", "{", "[]]", '{"type":"nope"}', '{"type":"record"}', '["int","int"]', "[" * 5000]
)
def test_what_is_no_schema_is_refused(registry: Replayed, text: str) -> None:
    assert refused(registry, "s", text) == 42201
