"""Which batches' results a topology keeps as files, and that old ones go.

`out/kept.json` says since which batch every result is there. It is written before a job begins to keep
results, and before any are deleted, so what it promises always holds.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from backend.topologies.folders import directory, result_files, unpublished_batches
from jobs.protocol.sealed import unseal

_FILE = "kept.json"


def begin_keeping(topology: str) -> None:
    """Note that a job to be launched keeps results from its next batch on.

    Those of a checkpoint that was lost have the same numbers; they go to a folder beside.
    """
    path, own = result_files(topology) / _FILE, checkpoint_id(topology)
    known = _read(path)
    if known is not None and known.checkpoint not in (None, own):
        path.parent.rename(path.parent.with_name(f"{path.parent.name}-{known.checkpoint}"))
        known = None
    if known is None:
        newest = newest_commit(topology)
        _write(path, _Kept(0 if newest is None else newest + 1, own))
    elif known.checkpoint != own:
        _write(path, _Kept(known.first, own))


def end_keeping(topology: str) -> None:
    """Note that a job to be launched keeps no results: subscribers would miss some."""
    (result_files(topology) / _FILE).unlink(missing_ok=True)


def kept_from(topology: str) -> int | None:
    """The first batch whose results are all kept; None if none are."""
    kept = _read(result_files(topology) / _FILE)
    return None if kept is None else kept.first


def checkpoint_id(topology: str) -> str | None:
    """The beginning of the id of a topology's checkpoint; None before there is one."""
    try:
        document = json.loads((directory(topology) / "checkpoint" / "checkpoint.json").read_bytes())
    except FileNotFoundError:
        return None
    return str(document["id"])[:8]


def newest_commit(topology: str) -> int | None:
    """The newest batch that is committed; None before the first."""
    folder = directory(topology) / "checkpoint" / "commits"
    numbers = [int(path.stem) for path in folder.glob("[0-9]*.json")]
    return max(numbers, default=None)


def newest_final(topology: str, query: str) -> int | None:
    """The newest batch whose results have their names; None before the first.

    Files are renamed behind the commit, one by one: the newest commit's may be on their way, those of all
    before it are not.
    """
    newest = newest_commit(topology)
    if newest is None:
        return None
    folder = result_files(topology)
    try:
        manifest = directory(topology) / "checkpoint" / "commits" / f"{newest}.json"
        files = _files_of(str(manifest), manifest.stat().st_mtime_ns)
    except FileNotFoundError:
        # A newer one has pushed it out.
        return newest
    own = [file for file in files if file.startswith(f"results/{query}/")]
    return newest if all((folder / file).exists() for file in own) else newest - 1


@lru_cache(maxsize=64)
def _files_of(manifest: str, _: int) -> tuple[str, ...]:
    """What a manifest lists; its time tells it from another checkpoint's."""
    document = json.loads(unseal(Path(manifest).read_bytes()))
    return tuple(file["path"] for file in document["files"])


def prune(topology: str, most_bytes: float) -> int:
    """Delete the oldest batches' results beyond so many bytes; gives the first kept.

    The newest batch stays, however large it is, and so does what a sink still has to get, since these
    files are what is published.
    """
    folder = result_files(topology)
    sizes: dict[int, int] = {}
    paths: dict[int, list[Path]] = {}
    for path in [*folder.glob("results/*/[0-9]*.parquet"), *folder.glob("dead_letters/[0-9]*.parquet")]:
        # One that somebody else deletes meanwhile is gone.
        with suppress(FileNotFoundError):
            batch = int(path.name.partition("-")[0])
            sizes[batch] = sizes.get(batch, 0) + path.stat().st_size
            paths.setdefault(batch, []).append(path)
    before = _read(folder / _FILE)
    first = 0 if before is None else before.first
    total = sum(sizes.values())
    waiting = unpublished_batches(topology)
    for batch in sorted(sizes)[:-1]:
        if total <= most_bytes or (waiting and batch >= waiting[0]):
            break
        total -= sizes[batch]
        first = max(first, batch + 1)
    if before is not None and first > before.first:
        _write(folder / _FILE, _Kept(first, before.checkpoint))
    for batch, files in paths.items():
        if batch < first:
            for path in files:
                path.unlink(missing_ok=True)
    return first


@dataclass(frozen=True, slots=True)
class _Kept:
    first: int
    checkpoint: str | None
    """The beginning of its id; None before its first launch has made it."""


def _read(path: Path) -> _Kept | None:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return _Kept(int(document["from"]), document["checkpoint"])


def _write(path: Path, kept: _Kept) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump({"from": kept.first, "checkpoint": kept.checkpoint}, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
