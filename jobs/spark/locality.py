"""Keep each partition on the host that worked on it before.

Runs are read faster where they were written: from memory, or from that host's copy. Spark places the
tasks behind a shuffle anywhere, so it is told by an *anchor*: an empty data set, partitioned like the
messages and cached in the executors. Joining it to a shuffle makes Spark prefer the host that caches the
partition's piece of the anchor (`PartitionerAwareUnionRDD`). If a host is lost, whoever works on its
partitions next caches their pieces and is preferred from then on; nobody has to notice.

It is a preference: after `spark.locality.wait` a task goes to any free core.
"""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark import SparkContext
from pyspark.core.rdd import RDD
from pyspark.serializers import BatchedSerializer, pack_long

from jobs.worker.exchange import Row

_PARTITIONER = 1
"""Spark takes partitioners with equal numbers for equal."""
_CHECKS = 3
"""In so many batches after executors came or went, partitions are spread anew if they lie unevenly: an
executor that has just registered may not be given tasks yet."""


class Placement:
    """Keeps the partitions of one topology with their hosts.

    Arguments: the context of a cluster, and the number of partitions, which may grow. Pickling, shuffling and
    preferring go through parts of PySpark that are not its public interface: the version is pinned.
    """

    def __init__(self, context: SparkContext, partitions: int) -> None:
        self._context = context
        self._partitions = partitions
        self._jvm: Any = context._jvm
        self._partitioner = self._jvm.PythonPartitioner(partitions, _PARTITIONER)
        self._anchor: Any = None
        self._executors: frozenset[str] = frozenset()
        self._checks = 0

    def prepare(self, partitions: int) -> None:
        """Give every executor its share of so many partitions, before each batch."""
        if partitions != self._partitions:
            self._partitions = partitions
            self._partitioner = self._jvm.PythonPartitioner(partitions, _PARTITIONER)
            self._spread()
        executors = self._alive()
        if executors != self._executors:
            self._executors = executors
            self._checks = _CHECKS
        if self._anchor is None or (self._checks and self._is_uneven()):
            self._spread()
        self._checks = max(0, self._checks - 1)

    def partition(self, rows: RDD[Row]) -> RDD[Row]:
        """Rows by their partition, to be worked on where the partition lies."""
        keyed = rows.mapPartitionsWithIndex(_by_partition, preservesPartitioning=True)
        keyed._bypass_serializer = True
        pairs = self._jvm.PairwiseRDD(keyed._jrdd.rdd()).asJavaPairRDD().partitionBy(self._partitioner)
        if self._anchor is not None:
            pairs = pairs.union(self._anchor)
        values = self._jvm.PythonRDD.valueOfPair(pairs)
        return RDD(values, self._context, BatchedSerializer(self._context._unbatched_serializer))

    def _alive(self) -> frozenset[str]:
        """The executors that may be given tasks."""
        ids = self._context._jsc.sc().getExecutorIds()
        return frozenset(str(ids.apply(number)) for number in range(ids.size()))

    def _is_uneven(self) -> bool:
        """True if an executor caches more than its share, or a piece is not cached."""
        scala: Any = self._context._jsc.sc()
        pieces: Counter[str] = Counter()
        for partition in range(self._partitions):
            places = scala.getPreferredLocs(self._anchor.rdd(), partition)
            if places.isEmpty():
                return True
            pieces[places.head().toString()] += 1
        share = -(-self._partitions // max(1, len(self._executors)))
        return max(pieces.values()) > share

    def _spread(self) -> None:
        """Cache a new anchor while no task is at work.

        Spark then gives every executor its share.
        """
        if self._anchor is not None:
            self._anchor.unpersist(False)
        empty = self._context._jsc.parallelizePairs(self._jvm.java.util.ArrayList(), 1)
        levels = self._jvm.org.apache.spark.storage.StorageLevel
        self._anchor = empty.partitionBy(self._partitioner).persist(levels.MEMORY_ONLY())
        self._anchor.count()


def _by_partition(_: int, rows: Iterable[Row]) -> Iterator[bytes]:
    """What Spark's shuffle takes from Python: keys and pickled rows by turns."""
    by_partition: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_partition[row[0]].append(row)
    for partition, items in sorted(by_partition.items()):
        yield pack_long(partition)
        yield pickle.dumps(items, protocol=pickle.HIGHEST_PROTOCOL)
