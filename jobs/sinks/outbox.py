"""Committed batches that are still to be published, on the disk of the checkpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path

from jobs.recovery.manifest import Manifest, write_durably
from jobs.sinks.connector import BatchResults
from jobs.sinks.parquet import DEAD_LETTER_FOLDER

_NOTHING = -1


class Outbox:
    """Keeps a batch until every sink has it: `outbox/BATCH.json` lists its result files.

    Each sink remembers the last batch that it has, and tells it when it connects; until all of them have told
    nothing is forgotten.

    Arguments: the checkpoint's directory; the directory of the result files, and whether they are only there
    to be published; the sinks' names.
    """

    def __init__(self, checkpoint: Path, output: Path, passing: bool, sinks: Iterable[str]) -> None:
        self.output = output
        self._passing = passing
        self._folder = checkpoint / "outbox"
        self._folder.mkdir(exist_ok=True)
        self._had: dict[str, int | None] = dict.fromkeys(sinks)
        self._lock = threading.Lock()

    def add(self, manifest: Manifest) -> bool:
        """Keep a committed batch. It is on the disk when this returns; False if it has no results."""
        files = [file.path for file in manifest.files if not file.path.startswith(f"{DEAD_LETTER_FOLDER}/")]
        if self._passing:
            for file in manifest.files:
                if file.path not in files:
                    (self.output / file.path).unlink(missing_ok=True)
        if files:
            since = {
                name: query.complete_since_us
                for name, query in sorted(manifest.queries.items())
                if query.complete_since_us is not None
            }
            entry = {"files": files, "complete_since_us": since}
            write_durably(self._entry(manifest.batch), json.dumps(entry).encode())
        return bool(files)

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
        return BatchResults(batch, tuple(self.output / file for file in files), since)

    def has(self, sink: str, batch: int) -> None:
        """Say that a sink has this batch and all before it, and forget what every sink has."""
        with self._lock:
            self._had[sink] = batch
            everywhere = min(_NOTHING if had is None else had for had in self._had.values())
            for waiting in self.batches():
                if waiting > everywhere:
                    return
                if self._passing:
                    for file in self.results(waiting).files:
                        file.unlink(missing_ok=True)
                self._entry(waiting).unlink()

    def _entry(self, batch: int) -> Path:
        return self._folder / f"{batch}.json"
