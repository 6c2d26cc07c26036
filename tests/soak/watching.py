"""What is seen from outside while the soak runs: every commit, and what the product takes of the machine."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

import psutil
import redis

from jobs.recovery.manifest import Manifest, read_manifest
from tests.soak.product import Product

_LOOK_S = 0.02
SAMPLED_EVERY_S = 5.0
_RESULTS_EVERY = 6
"""Samples: there are tens of thousands of files."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a batch's manifest says."""

    batch: int
    started_us: int
    committed_us: int
    """Wall clock, microseconds since 1970."""
    positions: dict[str, str]
    """By stream the last entry that was read."""
    queries: dict[str, int | None]
    """The queries that were answered, each with the event time since which it is complete."""
    accepted: dict[str, int]
    late: dict[str, int]
    undecodable: dict[str, int]
    """By stream, since the first batch."""
    results: int
    state_bytes: int

    @property
    def lag_s(self) -> float:
        """How old the newest entry of the stream that is furthest behind was at the commit; infinite before
        anything was read."""
        newest = [int(entry.partition("-")[0]) for entry in self.positions.values()]
        return self.committed_us / 1e6 - min(newest) / 1e3 if newest else float("inf")

    @staticmethod
    def of(manifest: Manifest) -> Commit:
        positions = manifest.position.get("streams", {})
        return Commit(
            manifest.batch,
            manifest.started_us,
            manifest.committed_us,
            {name: position["id"] for name, position in positions.items() if "id" in position},
            {name: state.complete_since_us for name, state in manifest.queries.items()},
            {name: state.accepted for name, state in manifest.streams.items()},
            {name: state.late for name, state in manifest.streams.items()},
            {name: state.undecodable for name, state in manifest.streams.items()},
            sum(manifest.figures.results.values()),
            manifest.figures.state_bytes,
        )


class CommitWatch(threading.Thread):
    """Notes every commit in FILE, one JSON object per line, before its manifest is deleted."""

    def __init__(self, product: Product, file: Path) -> None:
        super().__init__(name="commits", daemon=True)
        self._folder = product.checkpoint / "commits"
        self._file = file
        self._ending = threading.Event()
        self._changed = threading.Condition()
        self.last: Commit | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with self._file.open("w", buffering=1) as noted:
                while not self._ending.wait(_LOOK_S):
                    while self._look(noted):
                        continue
                while self._look(noted):
                    continue
        except BaseException as error:
            # Whoever waits for a commit finds it; without this watch no answer can be judged.
            self.error = error
            raise

    def _look(self, noted: TextIO) -> bool:
        """Takes down the next commit, if it is there."""
        number = 0 if self.last is None else self.last.batch + 1
        path = self._folder / f"{number}.json"
        if not path.exists():
            if any(int(p.stem) > number for p in self._folder.glob("*.json") if p.stem.isdigit()):
                raise RuntimeError(f"the manifest of batch {number} went by unseen")
            return False
        commit = Commit.of(read_manifest(str(path)))
        noted.write(json.dumps(asdict(commit)) + "\n")
        with self._changed:
            self.last = commit
            self._changed.notify_all()
        return True

    def end(self) -> None:
        self._ending.set()
        self.join()

    def caught_up(self, since: float, lag_s: float, seconds: float) -> float | None:
        """Waits for a commit after a moment (Unix seconds) whose lag is at most `lag_s`.

        Returns when it was committed, or None if it did not come in time.
        """
        give_up_at = time.monotonic() + seconds
        with self._changed:
            while True:
                if self.error is not None:
                    raise RuntimeError("commits are no longer seen") from self.error
                last = self.last
                if last is not None and last.committed_us / 1e6 >= since and last.lag_s <= lag_s:
                    return last.committed_us / 1e6
                left = give_up_at - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)


class Sampler(threading.Thread):
    """Notes every few seconds what memory and disk the product takes, one JSON object per line."""

    def __init__(self, product: Product, file: Path) -> None:
        super().__init__(name="sampler", daemon=True)
        self._product = product
        self._file = file
        self._ending = threading.Event()
        self._samples = 0
        self._results = 0

    def run(self) -> None:
        with self._file.open("w", buffering=1) as noted:
            while not self._ending.wait(SAMPLED_EVERY_S):
                noted.write(json.dumps(self._sample()) + "\n")

    def end(self) -> None:
        self._ending.set()
        self.join()

    def _sample(self) -> dict[str, object]:
        memory: Counter[str] = Counter()
        processes: Counter[str] = Counter()
        for kind, process in self._product.processes():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                # Shared pages count once, divided among those that share them.
                memory[kind] += process.memory_full_info().pss
                processes[kind] += 1
        return {
            "at": time.time(),
            "memory": dict(memory),
            "processes": dict(processes),
            "disk": dict(self._disk()),
            "redis_used": self._redis_used(),
        }

    def _disk(self) -> Iterator[tuple[str, int]]:
        home, checkpoint = self._product.home, self._product.checkpoint
        for part in ("state", "commits", "planned", "spark", "plans", "changes"):
            yield f"checkpoint/{part}", _bytes(checkpoint / part)
        if self._samples % _RESULTS_EVERY == 0:
            self._results = _bytes(self._product.output)
        self._samples += 1
        yield "results", self._results
        yield "redis log", _bytes(home / "redis")
        yield "database", sum(f.stat().st_size for f in home.glob("millrace.sqlite3*"))
        yield "logs", _bytes(home / "logs") + _bytes(checkpoint.parent / "logs")
        yield "shared memory", sum(_bytes(folder) for folder in self._product.exchanges())

    def _redis_used(self) -> int | None:
        client = self._product.redis()
        try:
            return int(client.info("memory")["used_memory"])
        except redis.RedisError:
            return None  # away: one of the faults
        finally:
            client.close()


def _bytes(folder: Path) -> int:
    """What a folder's files take; files come and go meanwhile."""
    total, left = 0, [folder]
    while left:
        with suppress(FileNotFoundError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        left.append(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
    return total
