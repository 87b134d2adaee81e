"""Soft and permanent deletes, and what they leave behind."""

import pytest

from headrace.registry.core import queries
from headrace.registry.errors import RegistryError
from tests.unit.registry.replayed import Replayed


@pytest.fixture
def registry() -> Replayed:
    replayed = Replayed()
    replayed.config(None, compatibility="NONE")
    for text in ('"int"', '"long"', '"string"'):
        replayed.register("s", text)
    return replayed


def code(registry: Replayed, *args: object, **named: object) -> int:
    with pytest.raises(RegistryError) as error:
        registry.delete(*args, **named)  # type: ignore[arg-type]
    return error.value.code


def test_a_deleted_version_is_hidden_but_its_id_still_answers(registry: Replayed) -> None:
    assert registry.delete("s", 2) == 2
    assert queries.versions(registry.core, "s", deleted=False, deleted_only=False) == [1, 3]
    assert queries.versions(registry.core, "s", deleted=False, deleted_only=True) == [2]
    assert queries.versions(registry.core, "s", deleted=True, deleted_only=False) == [1, 2, 3]
    assert queries.find_id(registry.core, 2).schema.text == '"long"'


def test_each_wrong_order_of_deletes_has_its_code(registry: Replayed) -> None:
    assert code(registry, "nobody") == 40401
    assert code(registry, "s", 9) == 40402
    assert code(registry, "s", permanent=True) == 40405
    assert code(registry, "s", 1, permanent=True) == 40407
    registry.delete("s", 1)
    assert code(registry, "s", 1) == 40406
    registry.delete("s")
    assert code(registry, "s") == 40404


def test_a_subject_deleted_and_registered_again_goes_on_counting(registry: Replayed) -> None:
    assert registry.delete("s") == [1, 2, 3]
    again = registry.register("s", '"long"')
    assert (again.id, again.version) == (2, 4)


def test_an_id_is_not_given_out_again_even_after_compaction(registry: Replayed) -> None:
    registry.delete("s")
    registry.delete("s", permanent=True)
    state = registry.compacted()
    assert state.subjects == {}
    assert state.contexts["."].highest_id == 3
    assert registry.register("t", '"double"').id == 4


def test_settings_of_a_subject_go_with_its_last_version(registry: Replayed) -> None:
    registry.config("s", compatibility="FULL")
    registry.mode("s", "READWRITE")
    registry.delete("s")
    assert "s" in registry.core.state.configs
    registry.delete("s", permanent=True)
    assert "s" not in registry.core.state.configs
    assert "s" not in registry.core.state.modes


def test_lists_show_deleted_subjects_only_if_asked(registry: Replayed) -> None:
    registry.register("t", '"int"')
    registry.delete("s")
    core = registry.core
    assert queries.subjects(core, deleted=False, deleted_only=False) == ["t"]
    assert queries.subjects(core, deleted=True, deleted_only=False) == ["s", "t"]
    assert queries.subjects(core, deleted=False, deleted_only=True) == ["s"]
