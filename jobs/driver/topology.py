"""A topology: one Structured Streaming query that answers all queries of a plan.

Spark asks the source how far the next batch goes, logs it, and hands the batch's number to the driver, which
works on it by the batch protocol (`jobs.driver.batch_protocol`). Every batch may run under another plan, or
under one whose stores lie otherwise.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs.driver.background_compaction import Merging
from jobs.driver.batch_protocol import BatchProtocol
from jobs.driver.coordinator import Coordinator, Stopping
from jobs.driver.settings import Settings
from jobs.recovery.checkpoint import Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.recovery.spark_log import mend
from jobs.sources.spark_source import FORMAT, MillraceSource, read_planned
from jobs.spark.executors.barrier_executor import BarrierExecutor
from jobs.spark.executors.shuffle_executor import ShuffleExecutor
from jobs.spark.java import is_local
from jobs.spark.locality import Placement
from jobs.spark.oom_guard import Losses
from jobs.spark.session import end_answered, local_slots
from jobs.spark.warm_up import WarmUp
from jobs.storage.memory_budget import share
from jobs.worker.exchange import remove_orphans
from jobs.worker.executor import Executor

_MOST_BEGINNINGS = 10


class Topology:
    """Runs the batches of a checkpoint's plan on Spark.

    Args:
        spark: the session; with a local master, driver and executors share memory.
        checkpoint: with at least one plan change recorded and its source written.
        settings: how to work on batches.
        coordinator: decides about plans, and hears of batches.
        memory_limit: how much of the stores may be in memory, in bytes, over all partitions; None for any
            amount.
    """

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: Checkpoint,
        settings: Settings,
        coordinator: Coordinator,
        memory_limit: int | None = None,
    ) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self._redis_url = settings.redis_url
        self._shares_host = is_local(spark.sparkContext.master)
        self._memory_limit = memory_limit
        share_bytes = self._share()
        self._merging = Merging(checkpoint.state, share_bytes) if self._shares_host else None
        remove_orphans()
        self._executor = self._new_executor(Losses(memory_limit))
        self._protocol = BatchProtocol(
            checkpoint, self._executor, coordinator, settings, self._merging, share_bytes
        )
        self._at_work = threading.Lock()
        self._stopped = False
        self._query: StreamingQuery | None = None
        self._warming: threading.Thread | None = None
        self._trigger_ms = 0
        self._beginnings = 0
        self._answered = False
        """True if Spark knows of the source whatever it needs to know."""
        self.error: BaseException | None = None
        """What stopped the topology, if anything did."""

    def _share(self) -> int | None:
        """What each partition may hold of the stores in memory, in bytes."""
        return share(self._memory_limit, self._checkpoint.identity.partitions, self._shares_host)

    def _new_executor(self, losses: Losses) -> Executor:
        spark, identity = self._spark.sparkContext, self._checkpoint.identity
        if self._shares_host:
            return BarrierExecutor(spark, losses, identity.id[:8])
        return ShuffleExecutor(spark, losses, Placement(spark, identity.partitions))

    @property
    def last(self) -> Manifest | None:
        """The manifest of the last committed batch."""
        return self._protocol.last

    def start(self, trigger_ms: int) -> None:
        """Finish or undo what a killed process left behind, then begin working on batches."""
        self._protocol.recover()
        mend(self._checkpoint.root / "spark", -1 if self.last is None else self.last.batch)
        self._spark.dataSource.register(MillraceSource)
        self._trigger_ms = trigger_ms
        if self._shares_host:
            self._warming = threading.Thread(target=self._warm_up, name="warming")
            self._warming.start()
        self._begin()

    def _warm_up(self) -> None:
        """Have the workers load the plan while Spark sets up its query."""
        change = self._checkpoint.newest_change()
        assert change is not None
        plan = self._checkpoint.shown(self._checkpoint.plan_path(change.plan))
        spark = self._spark.sparkContext
        tasks = min(self._checkpoint.identity.partitions, local_slots(spark.master))
        # What goes wrong here, if it is not the machine's moment of weakness, goes wrong again in the first
        # batch, where it is told.
        with suppress(Py4JJavaError):
            spark.parallelize(range(tasks), tasks).mapPartitionsWithIndex(WarmUp(plan)).count()

    def _begin(self) -> None:
        reader = self._spark.readStream.format(FORMAT).option("checkpoint", str(self._checkpoint.root))
        if self._redis_url is not None:
            reader = reader.option("redis", self._redis_url)
        self._query = (
            reader.load()
            .writeStream.foreachBatch(self._on_batch)
            .option("checkpointLocation", str(self._checkpoint.root / "spark"))
            .trigger(processingTime=f"{self._trigger_ms} milliseconds")
            .start()
        )

    def wait(self, seconds: float) -> bool:
        """Wait until the topology has ended by itself, at most `seconds`; True if it has.

        Raises what ended it.
        """
        assert self._query is not None
        try:
            ended = bool(self._query.awaitTermination(seconds))
        except Exception:
            # Spark wraps and cuts what a batch raised; the original says more.
            if self.error is not None:
                raise self.error from None
            raise
        return ended

    def failed(self) -> bool:
        """True if the topology has ended by itself, for good.

        Spark gives a planning process 10 s to start, which a busy machine may not manage; nothing is
        lost by beginning again, so that is done a few times.
        """
        if self._query is None or self._query.isActive:
            return False
        if self.error is None and self._beginnings < _MOST_BEGINNINGS and _starved(self._query):
            self._beginnings += 1
            self._begin()
            return False
        return True

    def stop(self) -> None:
        """End after the batch that is being worked on, if any."""
        self._stopped = True
        if self._warming is not None:
            self._warming.join()
            self._warming = None
        with self._at_work:
            pass  # The batch that is being worked on has ended, and none begins from here on.
        if self._query is not None:
            # Spark waits for its thread, which may just be calling for another batch: it must hear that
            # there is none, so nobody holds the lock.
            self._query.stop()
            self._query = None
        if self._merging is not None:
            self._merging.close()
        self._executor.close()

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        try:
            with self._at_work:
                if self._protocol.is_committed(batch):
                    return
                if self._stopped:
                    raise Stopping
                if not self._answered:
                    end_answered()
                    self._answered = True
                # There may be more partitions than there were.
                self._protocol.share_memory(self._share())
                self._protocol.work(batch, read_planned(self._checkpoint.root, batch))
        except BaseException as error:
            self.error = error
            raise


def _starved(query: StreamingQuery) -> bool:
    """True if the query ended because a Python process did not start in time."""
    ended_by = query.exception()
    return ended_by is not None and "failed to connect back" in str(ended_by)
