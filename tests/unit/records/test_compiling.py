"""Kernels are kept between processes wherever there is a place that is ours to write."""

import tempfile
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import caching

from headrace.records.compiling import compiled


def plus_one(number: int) -> int:
    return number + 1


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package and the home directory cannot be written; the temporary directory can."""
    for locator in (caching.InTreeCacheLocator, caching.UserWideCacheLocator):
        monkeypatch.setattr(locator, "from_function", classmethod(lambda *_: None))
    config: Any = numba.config
    monkeypatch.setattr(config, "CACHE_DIR", config.CACHE_DIR)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_kernel_is_kept_below_the_temporary_directory_where_nothing_else_can_be_written(
    read_only: Path,
) -> None:
    assert compiled(plus_one)(1) == 2
    (directory,) = read_only.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert list(directory.rglob("*.nbc"))


def test_a_directory_that_others_can_write_is_not_trusted(read_only: Path) -> None:
    assert compiled(plus_one)(1) == 2
    (directory,) = read_only.iterdir()
    kept = set(directory.rglob("*"))
    directory.chmod(0o777)
    numba.config.CACHE_DIR = ""  # type: ignore[attr-defined]
    assert compiled(plus_one)(2) == 3
    assert set(directory.rglob("*")) == kept


def test_a_kernel_that_cannot_be_kept_works_all_the_same(
    read_only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(read_only / "nowhere"))
    assert compiled(plus_one)(1) == 2
