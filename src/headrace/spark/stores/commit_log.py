"""Batches of files that appear as a whole, once: a small log beside the files it is about.

    PATH/_headrace/QUERY/staging-12-5f3a/...   a batch being written; Spark and others ignore it
    PATH/_headrace/QUERY/00000000000000000012.json   batch 12 is decided: these files go there

Creating the second is the one step that decides. Before it the batch is nothing: what is staged is
thrown away, and the replay writes it anew. After it the batch is these files and no others: whoever
comes next moves those that are still staged, and a replay writes nothing. The staging directory is
deleted last, so that one which is left tells what there is to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.spark.stores.errors import StoreError
from headrace.spark.stores.files import Files

#: Records kept for each query; Spark never replays a batch other than the last.
KEPT = 100

_STAGING = re.compile(r"staging-(\d+)-")
_RECORD = re.compile(r"(\d{20})\.json")


@dataclass(frozen=True, slots=True)
class Commit:
    """A batch that is decided."""

    query: str
    batch_id: int
    #: The name of the directory that it was staged in.
    staging: str
    #: Where each staged file goes, both from their directories.
    files: Mapping[str, str]
    bytes: int = 0
    #: What the writer wants to find again, such as the offsets that the batch ends at.
    notes: Mapping[str, Any] = field(default_factory=dict)


class CommitLog:
    """The batches that one query wrote to one directory."""

    def __init__(self, files: Files, root: str, slug: str) -> None:
        self._files = files
        self._root = root
        self.directory = f"{root}/_headrace/{slug}"

    def stage(self, batch_id: int, token: str) -> str:
        """The name of a new staging directory; the token keeps two drivers apart."""
        self._files.make_directory(self.directory)
        return f"staging-{batch_id}-{token}"

    def path_of(self, staging: str) -> str:
        return f"{self.directory}/{staging}"

    def find(self, batch_id: int) -> Commit | None:
        """A decided batch; an error if it is too long ago to know."""
        text = self._files.read(self._record(batch_id))
        if text is not None:
            return Commit(**json.loads(text))
        kept = self._batch_ids()
        if kept and batch_id < kept[0]:
            raise StoreError(
                f"Batch {batch_id} comes after batch {kept[-1]} of the same query, and the log in"
                f" {self.directory} begins at {kept[0]}: whether it was written is not known any"
                " more. Remove the directory if it was not."
            )
        return None

    def newest(self) -> Commit | None:
        kept = self._batch_ids()
        return self.find(kept[-1]) if kept else None

    def settle(self) -> None:
        """End what a killed driver began: a decided batch is published, any other forgotten."""
        for name in self._files.names(self.directory):
            staged = _STAGING.match(name)
            if staged is None:
                continue
            commit = self.find(int(staged[1]))
            if commit is not None and commit.staging == name:
                self._publish(commit)
            else:
                self._files.delete(self.path_of(name))

    def commit(self, commit: Commit) -> None:
        """Decide the batch, and publish it."""
        staged = self.path_of(commit.staging)
        for source in commit.files:
            self._files.sync(f"{staged}/{source}")
        text = json.dumps(asdict(commit), indent=1, sort_keys=True)
        if not self._files.create(self._record(commit.batch_id), text):
            self._files.delete(staged)
            raise StoreError(
                f"Batch {commit.batch_id} of {commit.query} was written to {self._root} by somebody"
                " else at the same time; what that one wrote stays."
            )
        self._publish(commit)
        for batch_id in self._batch_ids()[:-KEPT]:
            self._files.delete(self._record(batch_id))

    def _publish(self, commit: Commit) -> None:
        staged = self.path_of(commit.staging)
        for source, target in commit.files.items():
            path = f"{self._root}/{target}"
            if self._files.exists(f"{staged}/{source}"):
                self._files.make_directory(path.rpartition("/")[0])
                self._files.rename(f"{staged}/{source}", path)
        self._files.delete(staged)

    def _record(self, batch_id: int) -> str:
        return f"{self.directory}/{batch_id:020}.json"

    def _batch_ids(self) -> list[int]:
        found = map(_RECORD.fullmatch, self._files.names(self.directory))
        return [int(record[1]) for record in found if record is not None]
