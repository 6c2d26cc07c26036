"""Stamps: a step that was done for the same inputs is not done again."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from console import ROOT

_FOLDER = ROOT / ".venv" / "stamps"


def digest(files: Iterable[Path], *words: str) -> str:
    """A digest of some files' names and contents, and of some words."""
    total = hashlib.sha256("\0".join(words).encode())
    for file in sorted(files):
        total.update(b"\0" + str(file.relative_to(ROOT)).encode() + b"\0")
        total.update(file.read_bytes())
    return total.hexdigest()


def is_done(step: str, inputs: str) -> bool:
    stamp = _FOLDER / step
    return stamp.exists() and stamp.read_text() == inputs


def done(step: str, inputs: str) -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    (_FOLDER / step).write_text(inputs)
