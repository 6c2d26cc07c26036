"""Committed results to sinks, batch by batch, from a thread for each.

A batch is published behind its commit, from its result files, so whatever a sink has is part of the
checkpoint. The sink itself remembers the last batch that it has, so a process that starts goes on behind that
one. Sinks do not wait for each other: one that is away leaves the others up to date.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import replace

from jobs.recovery.manifest import Manifest
from jobs.sinks.connector import Sink, TableChanges, TableKeeper
from jobs.sinks.outbox import Outbox
from jobs.sinks.verified import VerifiedTimes
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
        self.verified = VerifiedTimes()
        """Told to sinks with each batch."""
        self.lanes = tuple(
            Lane(name, sink, outbox, self.verified, self._closing) for name, sink in sinks.items()
        )
        """One for each sink."""

    @property
    def error(self) -> BaseException | None:
        """What ended publishing for good, if anything did."""
        return next((lane.error for lane in self.lanes if lane.error is not None), None)

    def restore(self, batch: int, tables: Mapping[str, TableChanges]) -> None:
        """Have sinks begin with these tables of running groups, behind a batch."""
        for lane in self.lanes:
            lane.restore(batch, tables)

    def start(self, last: Manifest | None) -> None:
        """Begin with the last commit."""
        self.add_last(last)
        for lane in self.lanes:
            lane.thread.start()

    def add_last(self, last: Manifest | None) -> None:
        """Have the last commit published, whose process may have died before queuing it."""
        if last is not None and not self.outbox.forget_taken(last):
            self.add(last)

    def add(self, manifest: Manifest) -> None:
        """Have a committed batch published. It is on the disk when this returns."""
        if self.outbox.add(manifest):
            for lane in self.lanes:
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
        """End behind the transactions at hand.

        What waits is published by the next process.
        """
        self._closing.set()
        for lane in self.lanes:
            lane.changed.set()
        until = time.monotonic() + patience_s
        for lane in self.lanes:
            if lane.thread.is_alive():
                lane.thread.join(max(0.0, until - time.monotonic()))


class Lane:
    """One sink, and the thread that gives it batches.

    Arguments: the sink's name; the sink; where batches wait for it; what is known to be right; set when the
    process ends.
    """

    def __init__(
        self, name: str, sink: Sink, outbox: Outbox, verified: VerifiedTimes, closing: threading.Event
    ) -> None:
        self._name = name
        self._sink = sink
        self._outbox = outbox
        self._verified = verified
        self._closing = closing
        self._published: int | None = None
        """The last batch that the sink has; None if it is to be asked."""
        self.changed = threading.Event()
        self.error: BaseException | None = None
        """What ended publishing to the sink for good, if anything did."""
        self._restoring: tuple[int, Mapping[str, TableChanges]] | None = None
        """Tables for the sink once it is there."""
        self.thread = threading.Thread(target=self._run, name=f"publisher {name}", daemon=True)

    def restore(self, batch: int, tables: Mapping[str, TableChanges]) -> None:
        """Give the sink these tables, behind a batch, before anything is published."""
        self._restoring = batch, tables

    def publish_waiting(self) -> None:
        """Publish what waits, in order, until nothing does or the process closes.

        Raises `Away` if the sink is.
        """
        published, self._published = self._published, None
        if published is None:
            # Whether a batch came about before the sink went away is not known here.
            published = self._sink.connect()
            self._outbox.has(self._name, published)
            if self._restoring is not None and isinstance(self._sink, TableKeeper):
                self._sink.restore(*self._restoring)
            self._restoring = None
        for batch in self._outbox.batches():
            if self._closing.is_set():
                break
            if batch > published:
                results = self._outbox.results(batch)
                self._sink.publish(replace(results, verified_until_us=self._verified.of_batch(batch)))
                published = batch
                self._outbox.has(self._name, batch)
        self._published = published

    def _run(self) -> None:
        failures = 0
        while not self._closing.is_set():
            try:
                self.publish_waiting()
                failures = 0
                self.changed.wait(_POLL_S)
                self.changed.clear()
            except Away as reason:
                if not failures:
                    _LOG.warning("results wait for %s: %s", self._name, reason)
                self._closing.wait(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            except BaseException as error:
                self.error = error
                return
