"""Where what a topology writes lies, on hosts that see MILLRACE_HOME."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings


def directory(topology: str) -> Path:
    """Where a topology's checkpoint, plans, logs and results live."""
    return Path(settings.MILLRACE_HOME) / "topologies" / topology


def result_files(topology: str) -> Path:
    """Where its results and dead letters are kept, if they are."""
    return directory(topology) / "out"


def unpublished_batches(topology: str) -> list[int]:
    """Committed batches that some sink of a topology still has to get, oldest first."""
    folder = directory(topology) / "checkpoint" / "outbox"
    return sorted(int(entry.stem) for entry in folder.glob("[0-9]*.json"))
