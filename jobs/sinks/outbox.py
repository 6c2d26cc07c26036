"""Committed batches that are still to be published, on the disk of the checkpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from jobs.recovery.manifest import Manifest, QueryState, write_durably
from jobs.sinks.connector import BatchResults, KeyedTable
from jobs.sinks.parquet import DEAD_LETTER_FOLDER
from jobs.storage.disk import delete_if_there, make_folder_durable

_NOTHING = -1


class Outbox:
    """Keeps a batch until every sink has it.

    `outbox/BATCH.json` lists its result files.
    Each sink remembers the last batch that it has, and tells it when it connects; until all of them have told
    nothing is forgotten.

    Arguments: the checkpoint's directory; the directory of the result files, and whether they are only there
    to be published; the sinks' names.
    """

    def __init__(self, checkpoint: Path, output: Path, passing: bool, sinks: Iterable[str]) -> None:
        self.output = output
        self.passing = passing
        """True if files are only there to be published."""
        self._folder = checkpoint / "outbox"
        make_folder_durable(self._folder)
        self._had: dict[str, int | None] = dict.fromkeys(sinks)
        self._lock = threading.Lock()

    def add(self, manifest: Manifest) -> bool:
        """Keep a committed batch, durably; False if it has nothing for sinks."""
        files = _results(manifest)
        if self.passing:
            for file in manifest.files:
                if file.path not in files:
                    delete_if_there(self.output / file.path)
        tables = {name: keyed_table(query) for name, query in sorted(manifest.queries.items())}
        keyed = {name: table for name, table in tables.items() if table is not None}
        wanted = bool(files) or any(table.begin == manifest.batch for table in keyed.values())
        if wanted:
            since = {
                name: query.complete_since_us
                for name, query in sorted(manifest.queries.items())
                if query.complete_since_us is not None
            }
            told = {name: asdict(table) for name, table in keyed.items()}
            entry = {"files": files, "complete_since_us": since, "tables": told}
            write_durably(self._entry(manifest.batch), json.dumps(entry).encode())
        return wanted

    def forget_taken(self, manifest: Manifest) -> bool:
        """Forget a batch that every sink of an earlier process had; False for another one.

        Its files are gone, or some of them, which only happens then. A sink that is new begins behind it.
        """
        files = [self.output / file for file in _results(manifest)]
        taken = self.passing and not all(file.exists() for file in files)
        if taken:
            self._forget(manifest.batch, files)
        return taken

    def batches(self) -> list[int]:
        """What waits, oldest first."""
        return sorted(int(path.stem) for path in self._folder.glob("[0-9]*.json"))

    def results(self, batch: int) -> BatchResults:
        """A batch that waits."""
        entry = json.loads(self._entry(batch).read_bytes())
        # An earlier release wrote the list of files alone.
        files, since = (
            (entry, {}) if isinstance(entry, list) else (entry["files"], entry["complete_since_us"])
        )
        tables = {} if isinstance(entry, list) else entry.get("tables", {})
        keyed = {
            name: KeyedTable(tuple(one["key"]), one["begin"], one["changes"]) for name, one in tables.items()
        }
        return BatchResults(batch, tuple(self.output / file for file in files), since, keyed)

    def has(self, sink: str, batch: int) -> None:
        """Say that a sink has this batch and all before it.

        What every sink has is forgotten.
        """
        with self._lock:
            self._had[sink] = batch
            everywhere = self._everywhere()
            for waiting in self.batches():
                if waiting <= everywhere:
                    self._forget(waiting, self.results(waiting).files)

    def _everywhere(self) -> int:
        """The last batch that every sink has."""
        return min(_NOTHING if had is None else had for had in self._had.values())

    def _forget(self, batch: int, files: Iterable[Path]) -> None:
        if self.passing:
            for file in files:
                delete_if_there(file)
        delete_if_there(self._entry(batch))

    def _entry(self, batch: int) -> Path:
        return self._folder / f"{batch}.json"


def keyed_table(query: QueryState) -> KeyedTable | None:
    """The table that a query's results change.

    None if results stay, or nothing has answered it yet.
    """
    if query.key is None or query.table_from is None:
        return None
    return KeyedTable(query.key, query.table_from, query.table_changes)


def _results(manifest: Manifest) -> list[str]:
    return [file.path for file in manifest.files if not file.path.startswith(f"{DEAD_LETTER_FOLDER}/")]
