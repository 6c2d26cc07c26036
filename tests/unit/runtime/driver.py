"""A topology in one thread, without Spark: batches through ingestion and every stage of every task.

It does what the streaming job does around the state logic (watermarks, hand-over of messages,
commit of runs), so that the state logic can be tested as a whole and fast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from jobs.join.index_columns import limit_of
from jobs.plan.index import index_of
from jobs.plan.stage_fusion import Stages, stages_of
from jobs.plan.tuples import EVERY_TASK, Message, Result
from jobs.storage.partition import CompactionPolicy, PartitionState, state_root
from jobs.storage.run import RunRef
from jobs.worker.ingest import Ingested, ingest
from jobs.worker.level import Worked, work_stage
from optimizer.physical.graph import PhysicalGraph


@dataclass
class Topology:
    """Feeds batches and commits them; what is not committed is forgotten by `recover`."""

    graph: PhysicalGraph
    root: str
    policy: CompactionPolicy = field(default_factory=CompactionPolicy)
    share_bytes: int | None = None
    """What each partition may have of the stores in memory."""
    meets_always: bool = False
    """Whether tasks wait for each other behind every level, also where nothing leaves them."""
    resident_bytes: int = 0
    """The most that one had."""
    batch: int = 0
    runs: dict[str, tuple[RunRef, ...]] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    results: dict[str, list[pl.DataFrame]] = field(default_factory=lambda: defaultdict(list))
    dead: list[pa.Table] = field(default_factory=list)

    @property
    def partitions(self) -> int:
        return max((store.tasks for store in self.graph.stores), default=1)

    @property
    def stages(self) -> Stages:
        return stages_of(self.graph, frozenset()) if self.meets_always else index_of(self.graph).stages

    def watermarks(self) -> tuple[dict[str, int], int | None]:
        """Per stream that has tuples, and of the topology."""
        own = {
            s.name: self.newest[s.name] - s.lateness_us for s in self.graph.streams if s.name in self.newest
        }
        return own, min(own.values()) if len(own) == len(self.graph.streams) else None

    def feed(self, tables: Mapping[str, pa.Table], *, commit: bool = True) -> list[Worked]:
        """Work on one batch; without `commit` as if the process died just before it."""
        own, lowest = self.watermarks()
        ingested: list[Ingested] = [
            ingest(
                self.graph,
                stream,
                table,
                None,
                arrival_base=(self.batch << 36) + (task << 28),
                watermark_us=own.get(stream),
            )
            for task, (stream, table) in enumerate(sorted(tables.items()))
        ]
        messages = [message for part in ingested for message in part.messages]
        results = [result for part in ingested for result in part.results]
        done: list[Worked] = []
        inserted: dict[int, tuple[RunRef, ...]] = defaultdict(tuple)
        stages = self.stages
        for stage in range(1, stages.count + 1):
            later: list[Message] = []
            due = [m for m in messages if stages.of_edge[m.edge] == stage]
            for partition in range(self.partitions):
                # A later stage runs in a process of its own: what was inserted reaches it as a list.
                state = PartitionState(
                    self.root,
                    partition,
                    self.batch,
                    self.runs,
                    self.policy,
                    inserted[partition],
                    limit_of(index_of(self.graph), self.share_bytes),
                )
                mine = [m for m in due if m.partition in (partition, EVERY_TASK) and self._has(m, partition)]
                for _, worked in work_stage(self.graph, stages, stage, state, mine, lowest):
                    done.append(worked)
                    later.extend(worked.messages)
                    results.extend(worked.results)
                inserted[partition] = state.inserted
                self.resident_bytes = max(self.resident_bytes, state.peak_resident_bytes)
            messages = [m for m in messages if stages.of_edge[m.edge] > stage] + later
        assert not messages
        if commit:
            self._commit(tables, ingested, done, results)
        return done

    def recover(self) -> tuple[str, ...]:
        """Start again after the last commit."""
        return state_root(self.root).delete_others([run for runs in self.runs.values() for run in runs])

    def answers(self, query: str) -> pl.DataFrame:
        return pl.concat(self.results[query]) if self.results[query] else pl.DataFrame()

    def stored(self, store: str) -> int:
        return sum(run.rows for run in self.runs.get(store, ()))

    def _commit(
        self,
        tables: Mapping[str, pa.Table],
        ingested: list[Ingested],
        done: list[Worked],
        results: list[Result],
    ) -> None:
        dropped = {run.path for worked in done for run in worked.dropped}
        listed = [run for runs in self.runs.values() for run in runs if run.path not in dropped]
        listed += [run for worked in done for run in worked.added]
        runs: dict[str, list[RunRef]] = defaultdict(list)
        for run in sorted(listed, key=lambda run: (run.max_arrival, run.path)):
            runs[run.store].append(run)
        self.runs = {store: tuple(parts) for store, parts in runs.items()}
        state_root(self.root).delete(sorted(dropped))
        for stream, part in zip(sorted(tables), ingested, strict=True):
            latest = part.counts.max_event_time_us
            if latest is not None:
                self.newest[stream] = max(latest, self.newest.get(stream, latest))
            if part.dead is not None:
                self.dead.append(part.dead)
        for result in results:
            self.results[result.query].append(result.table)
        self.batch += 1

    def _has(self, message: Message, partition: int) -> bool:
        edge = next(edge for edge in self.graph.edges if edge.id == message.edge)
        return partition < next(store.tasks for store in self.graph.stores if store.id == edge.target)
