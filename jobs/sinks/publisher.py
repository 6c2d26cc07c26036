"""Committed results to somewhere else, batch by batch, from a thread for each sink.

A batch is published behind its commit, from its result files, so whatever a sink has is part of the
checkpoint. The sink itself remembers the last batch that it has, so a process that starts goes on behind that
one. Sinks do not wait for each other: one that is away leaves the others up to date.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from jobs.recovery.manifest import Manifest
from jobs.sinks.connector import Sink
from jobs.sinks.outbox import Outbox
from jobs.sources.connector import Away

_LOG = logging.getLogger(__name__)

_BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 5.0)
_POLL_S = 0.2


class Publisher:
    """Publishes committed batches in order.

    Arguments: the sinks by name; the outbox for them; how many batches may wait.
    """

    def __init__(self, sinks: Mapping[str, Sink], outbox: Outbox, most: int) -> None:
        self.outbox = outbox
        self._most = most
        self._released = threading.Event()
        self._closing = threading.Event()
        self._lanes = [_Lane(name, sink, self.outbox, self._closing) for name, sink in sinks.items()]

    @property
    def error(self) -> BaseException | None:
        """What ended publishing for good, if anything did."""
        return next((lane.error for lane in self._lanes if lane.error is not None), None)

    def start(self, last: Manifest | None) -> None:
        """Begin with the last commit, whose process may have died before queuing it."""
        if last is not None:
            self.add(last)
        for lane in self._lanes:
            lane.thread.start()

    def add(self, manifest: Manifest) -> None:
        """Have a committed batch published. It is on the disk when this returns."""
        if self.outbox.add(manifest):
            for lane in self._lanes:
                lane.changed.set()

    def waiting(self) -> int:
        """Batches that some sink does not have yet."""
        return len(self.outbox.batches())

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
        """End behind the transactions at hand; what waits is published by the next process."""
        self._closing.set()
        for lane in self._lanes:
            lane.changed.set()
        until = time.monotonic() + patience_s
        for lane in self._lanes:
            lane.thread.join(max(0.0, until - time.monotonic()))


class _Lane:
    """One sink, and the thread that gives it batches."""

    def __init__(self, name: str, sink: Sink, outbox: Outbox, closing: threading.Event) -> None:
        self._name = name
        self._sink = sink
        self._outbox = outbox
        self._closing = closing
        self.changed = threading.Event()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=f"publisher {name}", daemon=True)

    def _run(self) -> None:
        failures = 0
        while not self._closing.is_set():
            try:
                published = self._sink.connect()
                self._outbox.has(self._name, published)
                while not self._closing.is_set():
                    for batch in self._outbox.batches():
                        if batch > published:
                            self._sink.publish(self._outbox.results(batch))
                            published = batch
                            self._outbox.has(self._name, batch)
                        failures = 0
                        if self._closing.is_set():
                            return
                    self.changed.wait(_POLL_S)
                    self.changed.clear()
            except Away as reason:
                # Whether the batch came about is not known here; connecting again finds out.
                if not failures:
                    _LOG.warning("results wait for %s: %s", self._name, reason)
                self._closing.wait(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            except BaseException as error:
                self.error = error
                return
