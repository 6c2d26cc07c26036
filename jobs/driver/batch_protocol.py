"""The batch protocol: read, assign, run, retry, set aside, commit, recover.

Exactly once rests on one file per batch, its commit manifest. A source repeats a batch under the same
positions until it is told that the batch is over. A batch whose manifest exists is not worked on again; one
whose manifest does not has left nothing that a reader or a later batch can see.

A start (`recover`), behind `Checkpoint.remove_unfinished` and `Checkpoint.verify`:

 1. The state behind a URL is claimed. Durable: whose it is.
 2. Runs that the last manifest does not list are deleted.
 3. Files that the last manifest lists get their final names, others that are hidden are deleted, and every
    query's folder gets its empty file of columns.

A batch (`is_committed`, then `work`):

 1. It must be the one behind the last manifest, and begin at the position where that one ends: the source's
    log is not flushed and may have lost its end. Durable: nothing of the batch.
 2. The coordinator names the plan change. Durable: the change and its plan, since before it was named.
 3. Under another plan than the last commit's, state is made ready (`jobs.reconfigure.switch`). Durable: an
    interim manifest, and runs that only it lists; a start deletes both.
 4. Watermarks and layouts follow from the last manifest alone; descriptors are assigned to tasks, always
    in the same way, so that a repeated batch gives the same arrival numbers.
 5. The executor runs ingestion and every stage. Written, not durable: runs that no manifest lists, results
    and dead letters under hidden names; each attempt has its own.
 6. A batch that fails, and fails again on the same tuples, is searched for those that it fails with, by
    working on halves of it (step 5 again). They are set aside: their dead letters are written, hidden too.
 7. A batch in which a step of the plan makes too much, or whose queries fail, is given up: the interim
    manifest is deleted, the coordinator names a newer change, and step 3 begins again.
 8. Runs that were merged behind earlier commits take the place of those that they were made of.
 9. Everything that the manifest lists, and the one before it did not, is flushed, then the folders.
10. The manifest is written, flushed and given its name. Durable: the batch. It is final.
11. Results and dead letters get their final names.
12. Runs that the manifest took off the list are deleted, and the interim manifest.
13. If attempts were given up, and every so often, files that nothing lists are deleted.
14. The coordinator hears of the commit; then runs begin to be merged behind it.
"""

from __future__ import annotations

import time
from pathlib import Path

from jobs.driver.attempts import Attempts, switches
from jobs.driver.background_compaction import Merging
from jobs.driver.coordinator import Committed, Coordinator
from jobs.driver.next_manifest import successor
from jobs.driver.settings import Settings
from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.reconfigure.switch import Switched
from jobs.recovery.checkpoint import Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.sinks.parquet import hidden_path, remove_hidden, show, write_schemas
from jobs.sources.planner import PlannedBatch
from jobs.storage.disk import delete_if_there, make_durable, make_folder_durable
from jobs.storage.partition import state_root
from jobs.worker.executor import Executor
from optimizer.algebra.errors import InputError, Place

_SWEPT_EVERY = 1000
"""Batches between two looks through all folders for files that no manifest lists."""


class BatchProtocol:
    """Works on a checkpoint's batches in order, and commits each once.

    Args:
        checkpoint: with at least one plan change recorded.
        executor: runs the tasks.
        coordinator: decides about plans, and hears of batches.
        settings: how to work.
        merging: what merges runs behind the commits; None if tasks do inside their batches.
        share_bytes: how much of the stores each partition may have in memory; None for any amount.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        executor: Executor,
        coordinator: Coordinator,
        settings: Settings,
        merging: Merging | None = None,
        share_bytes: int | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._coordinator = coordinator
        self._settings = settings
        self._merging = merging
        self._attempts = Attempts(checkpoint, executor, coordinator, settings, share_bytes, merging is None)
        self.last = checkpoint.commits.last()
        """The manifest of the last committed batch."""

    def share_memory(self, share_bytes: int | None) -> None:
        """From the next batch on each partition may have so much of the stores in memory."""
        self._attempts.share_bytes = share_bytes
        if self._merging is not None:
            self._merging.share_bytes = share_bytes

    def recover(self) -> None:
        """Finish or undo what a killed process left behind."""
        last, output = self.last, self._settings.output
        self._checkpoint.claim_state()
        state_root(self._checkpoint.state).delete_others(last.runs if last is not None else ())
        if output is None:
            return
        make_folder_durable(output)
        if last is not None:
            show(output, last.files, taken=self._settings.passing)
        remove_hidden(output)
        change = self._checkpoint.newest_change()
        if change is not None:
            write_schemas(output, self._checkpoint.graph(change.plan).answered, DEAD_LETTERS)

    def is_committed(self, batch: int) -> bool:
        """True for a batch that is not to be worked on again, false for the next one.

        One that is committed may come again, once, after a crash between the source's log and ours. Raises
        `InputError` for any other one: the source's log is not the one that belongs to the commits.
        """
        following = 0 if self.last is None else self.last.batch + 1
        if batch == following:
            return False
        if batch > following or not self._checkpoint.commits.path(batch).exists():
            raise self._torn(f"batch {batch} from Spark", f"batch {following}")
        return True

    def work(self, batch: int, planned: PlannedBatch) -> None:
        """Work on the next batch until it is final.

        Raises:
            Stopping: the coordinator has no plan under which the batch could be worked on.
            InputError: the batch does not begin where the last commit ends.
        """
        started_us, began = self._settings.clock(), time.perf_counter()
        before = self.last
        if planned.batch != batch:
            raise self._torn(f"a plan of batch {planned.batch}", f"one of batch {batch}")
        if before is not None and planned.start != before.position:
            raise self._torn(f"batch {batch} at another position", "the position of the last commit")
        worked = self._attempts.work_on(planned, before, started_us)
        begun, gathered = worked.begun, worked.gathered
        if self._merging is not None:
            gathered = self._merging.adopted(gathered, begun.previous)
        manifest = successor(
            begun.previous,
            begun.base.removed if begun.base is not None else (),
            begun.graph,
            begun.change,
            batch // self._settings.epoch_batches,
            planned,
            begun.watermarks,
            begun.layouts,
            gathered,
            started_us,
            self._settings.clock(),
            begun.base,
        )
        self._commit(manifest, begun.base)
        self._coordinator.batch_committed(
            Committed(
                manifest=manifest,
                graph=begun.graph,
                change=begun.change,
                gathered=gathered,
                backlog=planned.backlog,
                seconds=time.perf_counter() - began,
                switched=switches(before, begun.change),
                trouble=worked.trouble,
            )
        )
        if self._merging is not None:
            self._merging.begin(manifest, begun.graph)

    def _commit(self, manifest: Manifest, base: Switched | None) -> None:
        """Make a batch final, then what follows from that."""
        root, output = state_root(self._checkpoint.state), self._settings.output
        known = {run.path for run in self.last.runs} if self.last is not None else set()
        root.make_durable(run for run in manifest.runs if run.path not in known)
        if output is not None:
            # Their final names are shown again behind the last commit only.
            before = self.last.files if self.last is not None else ()
            shown = {output / file.path for file in before if (output / file.path).parent.exists()}
            make_durable((hidden_path(output, file) for file in manifest.files), output, shown)
        self._checkpoint.commits.write(manifest)
        self.last = manifest
        if output is not None:
            show(output, manifest.files)
        root.delete(manifest.removed)
        if base is not None:
            delete_if_there(Path(base.path))
            root.remove_empty_folders()
        if self._attempts.given_up or manifest.batch % _SWEPT_EVERY == 0:
            self._sweep(manifest)

    def _sweep(self, manifest: Manifest) -> None:
        """Delete what abandoned attempts left, while no other task is at work.

        One that is still at work leaves its files to the next sweep. In a cluster Spark repeats single
        tasks without saying so, therefore it is also done every so often.
        """
        made = self._merging.made() if self._merging is not None else ()
        state_root(self._checkpoint.state).delete_others((*manifest.runs, *made))
        if self._settings.output is not None:
            remove_hidden(self._settings.output)
        self._attempts.given_up = False

    def _torn(self, found: str, expected: str) -> InputError:
        """That the source's log and the commits do not belong together."""
        return InputError(
            "torn-checkpoint",
            Place(str(self._checkpoint.root)),
            found,
            f"{expected}, as its commits say; restore the whole checkpoint from one copy, "
            "or delete it and start over",
        )
