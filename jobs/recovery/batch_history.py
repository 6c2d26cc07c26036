"""The figures of a checkpoint's batches, one line of JSON each, for reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from jobs.recovery.manifest import BatchFigures, Manifest


@dataclass(frozen=True, slots=True)
class BatchLine:
    batch: int
    session: int
    """Counts the processes that worked on the checkpoint, from 0."""
    epoch: int
    plan: str
    started_us: int
    committed_us: int
    """Wall clock, microseconds since 1970."""
    figures: BatchFigures

    @property
    def seconds(self) -> float:
        return (self.committed_us - self.started_us) / 1e6


_LINE: TypeAdapter[BatchLine] = TypeAdapter(BatchLine)


class History:
    """Appends a line per committed batch.

    A process killed between a commit and its line leaves a gap; on opening, the last manifest
    fills it, and what follows a cut line or the last commit is dropped.
    """

    def __init__(self, checkpoint: Path, last: Manifest | None) -> None:
        self._path = checkpoint / "batches.jsonl"
        self.lines = [line for line in _read(self._path) if last is not None and line.batch <= last.batch]
        self._session = self.lines[-1].session + 1 if self.lines else 0
        if last is not None and (not self.lines or self.lines[-1].batch < last.batch):
            session = self.lines[-1].session if self.lines else 0
            self.lines.append(_line(last, session))
            self._session = session + 1
        self._path.write_bytes(b"".join(_LINE.dump_json(line) + b"\n" for line in self.lines))

    def append(self, manifest: Manifest) -> BatchLine:
        line = _line(manifest, self._session)
        self.lines.append(line)
        with self._path.open("ab") as file:
            file.write(_LINE.dump_json(line) + b"\n")
        return line


def working_seconds(lines: Sequence[BatchLine]) -> float:
    """Time from the first batch to the last commit, without that between processes."""
    total = 0
    for session in sorted({line.session for line in lines}):
        own = [line for line in lines if line.session == session]
        total += own[-1].committed_us - own[0].started_us
    return total / 1e6


def _line(manifest: Manifest, session: int) -> BatchLine:
    return BatchLine(
        manifest.batch,
        session,
        manifest.epoch,
        manifest.plan,
        manifest.started_us,
        manifest.committed_us,
        manifest.figures,
    )


def _read(path: Path) -> list[BatchLine]:
    if not path.exists():
        return []
    lines = []
    for text in path.read_bytes().splitlines():
        try:
            json.loads(text)
        except ValueError:
            break  # The process was killed while it wrote this line.
        lines.append(_LINE.validate_json(text))
    return lines
