"""Committed results to somewhere else, batch by batch, from a thread of its own.

A batch is published behind its commit, from its result files, so whatever a sink has is part of the
checkpoint. `outbox/BATCH.json` in the checkpoint lists what is still to be published; the sink itself
remembers the last batch that it has, so a process that starts goes on behind that one.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from jobs.recovery.manifest import Manifest, write_durably
from jobs.sinks.connector import Sink
from jobs.sinks.parquet import DEAD_LETTER_FOLDER
from jobs.sources.connector import Away

_BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 5.0)
_POLL_S = 0.2


class Publisher:
    """Publishes committed batches in order.

    Arguments: the sink; the checkpoint's directory; the directory of the result files, and whether they are
    only there to be published; how many batches may wait.
    """

    def __init__(self, sink: Sink, checkpoint: Path, output: Path, passing: bool, most: int) -> None:
        self._sink = sink
        self.output = output
        self._passing = passing
        self._most = most
        self._released = threading.Event()
        self._outbox = checkpoint / "outbox"
        self._outbox.mkdir(exist_ok=True)
        self._changed = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
        self.error: BaseException | None = None
        """What ended publishing for good, if anything did."""

    def start(self, last: Manifest | None) -> None:
        """Begin with the last commit, whose process may have died before queuing it."""
        if last is not None:
            self.add(last)
        self._thread.start()

    def add(self, manifest: Manifest) -> None:
        """Have a committed batch published. It is on the disk when this returns."""
        files = [file.path for file in manifest.files if not file.path.startswith(f"{DEAD_LETTER_FOLDER}/")]
        if self._passing:
            for file in manifest.files:
                if file.path not in files:
                    (self.output / file.path).unlink(missing_ok=True)
        if files:
            entry = self._outbox / f"{manifest.batch}.json"
            write_durably(entry, json.dumps(files).encode())
            self._changed.set()

    def waiting(self) -> int:
        """Batches that the sink does not have yet."""
        return sum(1 for _ in self._outbox.glob("[0-9]*.json"))

    def wait_for_room(self) -> None:
        """Wait until fewer batches are queued than may be.

        Returns, too, once publishing has ended, or after `release`.

        A sink that is away for long so holds the topology up, whose input stays where it is, rather than
        fill the disk.
        """
        while self.waiting() >= self._most and self.error is None:
            if self._released.wait(_POLL_S):
                return

    def release(self) -> None:
        """Block no caller from now on: the topology is ending."""
        self._released.set()

    def close(self, patience_s: float) -> None:
        """End behind the transaction at hand; what waits is published by the next process."""
        self._closing = True
        self._changed.set()
        self._thread.join(patience_s)

    def _run(self) -> None:
        failures = 0
        while not self._closing:
            try:
                published = self._sink.connect()
                while not self._closing:
                    for batch in self._batches():
                        if batch > published:
                            self._publish(batch)
                            published = batch
                        self._forget(batch)
                        failures = 0
                        if self._closing:
                            return
                    self._changed.wait(_POLL_S)
                    self._changed.clear()
            except Away:
                # Whether the batch came about is not known here; connecting again finds out.
                time.sleep(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            except BaseException as error:
                self.error = error
                return

    def _batches(self) -> list[int]:
        return sorted(int(path.stem) for path in self._outbox.glob("[0-9]*.json"))

    def _publish(self, batch: int) -> None:
        self._sink.publish(batch, [self.output / file for file in self._files(batch)])

    def _files(self, batch: int) -> list[str]:
        files: list[str] = json.loads((self._outbox / f"{batch}.json").read_bytes())
        return files

    def _forget(self, batch: int) -> None:
        if self._passing:
            for file in self._files(batch):
                (self.output / file).unlink(missing_ok=True)
        (self._outbox / f"{batch}.json").unlink()
