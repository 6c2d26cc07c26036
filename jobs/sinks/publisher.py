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
from jobs.storage.disk import delete_if_there, disk, make_folder_durable

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
        self.passing = passing
        """True if files are only there to be published."""
        self._most = most
        self._released = threading.Event()
        self._outbox = checkpoint / "outbox"
        make_folder_durable(self._outbox)
        self._changed = threading.Event()
        self._closing = False
        self._published: int | None = None
        """The last batch that the sink has; None if it is to be asked."""
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
        if self.passing:
            for file in manifest.files:
                if file.path not in files:
                    delete_if_there(self.output / file.path)
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
                self.publish_waiting()
                failures = 0
                self._changed.wait(_POLL_S)
                self._changed.clear()
            except Away:
                time.sleep(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            except BaseException as error:
                self.error = error
                return

    def publish_waiting(self) -> None:
        """Publish what waits, in order, until nothing does or the process closes.

        Raises `Away` if the sink is.
        """
        published, self._published = self._published, None
        if published is None:
            # Whether a batch came about before the sink went away is not known here.
            published = self._sink.connect()
        for batch in self._batches():
            if self._closing:
                break
            if batch > published:
                self._publish(batch)
                published = batch
            self._forget(batch)
        self._published = published

    def _batches(self) -> list[int]:
        return sorted(int(path.stem) for path in self._outbox.glob("[0-9]*.json"))

    def _publish(self, batch: int) -> None:
        self._sink.publish(batch, [self.output / file for file in self._files(batch)])

    def _files(self, batch: int) -> list[str]:
        files: list[str] = json.loads((self._outbox / f"{batch}.json").read_bytes())
        return files

    def _forget(self, batch: int) -> None:
        if self.passing:
            for file in self._files(batch):
                delete_if_there(self.output / file)
        disk().delete(self._outbox / f"{batch}.json")
