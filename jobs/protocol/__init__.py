"""Typed, versioned messages of the control plane.

Nothing else of `jobs` is known to `backend`. Beside them: posting webhooks, which both do.

A topology has two Redis streams. The backend writes `control` messages, the job writes
`events`. Each entry has one field, `message`, holding the JSON of one model below. Losing
either stream loses no data: the job keeps its plan and position in its checkpoint, and the
next snapshot event repeats what matters.

Redis keys:
    millrace:topology:{topology}:control    control messages, read by the job
    millrace:topology:{topology}:events     events, read by the backend and, through it, pages
    millrace:topology:{topology}:statistics the newest epochs again, read when plans are made again
    millrace:topology:{topology}:samples    tuples of the newest epoch, read with its statistics
    millrace:stream:{stream}                tuples of a stream, written by any producer
    millrace:results:{topology}:{query}     newest results of a query, capped, for the live tail
    millrace:dead:{topology}:{stream}       newest dead letters of a stream, capped
    millrace:appended:results:{topology}:{query}   which batch was appended last to the above
    millrace:appended:dead:{topology}:{stream}     and to those
    millrace:sample:{topology}:{deployment} what is kept of a query's windows to check it by
    millrace:oracle:{topology}              whoever compares its results with a batch join has it
    millrace:mark                           a random text: another one after the server lost what it held

A name is quoted as in a URL, so that it is one part of a key whatever is in it: no two names have one key,
and no name is the end of another one's key or a pattern of several. Names that the product takes have
nothing in them to be quoted.

A stream entry holds either `json` (one JSON object, one tuple) or `arrow` (an Arrow IPC stream,
any number of tuples). A result entry holds `json` (one object), `batch` and `trace` (a
`ResultTrace`), a dead letter's `letter` (a `DeadLetter`) and `batch`.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, TypeAdapter

from jobs.protocol.metrics import EdgeMetrics as EdgeMetrics
from jobs.protocol.metrics import Metric
from jobs.protocol.metrics import QueryMetrics as QueryMetrics
from jobs.protocol.metrics import StoreMetrics as StoreMetrics
from jobs.protocol.metrics import StreamMetrics as StreamMetrics

PROTOCOL_VERSION: Literal[1] = 1
MARK_KEY = "millrace:mark"


def _part(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def control_key(topology: str) -> str:
    return f"millrace:topology:{_part(topology)}:control"


def events_key(topology: str) -> str:
    return f"millrace:topology:{_part(topology)}:events"


def statistics_key(topology: str) -> str:
    return f"millrace:topology:{_part(topology)}:statistics"


def samples_key(topology: str) -> str:
    return f"millrace:topology:{_part(topology)}:samples"


def stream_key(stream: str) -> str:
    return f"millrace:stream:{_part(stream)}"


def results_key(topology: str, query: str) -> str:
    return f"millrace:results:{_part(topology)}:{_part(query)}"


TABLE_ROWS = 10_000
"""Rows of a table that are kept, and changes of a task and batch that travel there."""


def table_keys(topology: str, query: str) -> tuple[str, str, str]:
    """The keys of a table of running groups: its rows, their order, its state.

    >>> table_keys("flights", "busy")[0]
    'millrace:table:flights:busy'
    """
    rows = f"millrace:table:{_part(topology)}:{_part(query)}"
    return rows, f"{rows}:order", f"{rows}:state"


def dead_letters_key(topology: str, stream: str) -> str:
    return f"millrace:dead:{_part(topology)}:{_part(stream)}"


def appended_key(entries: str) -> str:
    """Which batch was appended last to the results or dead letters with this key.

    >>> appended_key(results_key("flights", "windy"))
    'millrace:appended:results:flights:windy'
    """
    return f"millrace:appended:{entries.removeprefix('millrace:')}"


def check_key(topology: str) -> str:
    return f"millrace:oracle:{_part(topology)}"


def sample_key(topology: str, deployment: int) -> str:
    return f"millrace:sample:{_part(topology)}:{deployment}"


def entry_order(entry: str) -> tuple[int, int]:
    """A Redis stream id as something to compare. Raises `ValueError` if it is none.

    >>> entry_order("1732-10") > entry_order("1732-9")
    True
    """
    parts = re.fullmatch(r"([0-9]{1,20})(?:-([0-9]{0,20}))?", entry)
    if parts is None:
        raise ValueError(f"{entry!r} is not a Redis stream id")
    return int(parts[1]), int(parts[2] or 0)


class ResultTrace(BaseModel, frozen=True, extra="forbid"):
    """How a result came about: beside it in the live tail."""

    plan_id: str
    """The plan in use."""
    rule: str
    """The rule of that plan at whose leaf it was found; edges lead back from it to the start."""
    arrival: int
    """The arrival number of the newest of its tuples, where the path began."""
    times: dict[str, datetime | None]
    """Event times by the plan's inputs, as far as the leaf had them."""


class DeadLetter(BaseModel, frozen=True, extra="forbid"):
    """A tuple that a topology turned away, or could not evaluate an expression for."""

    reason: str
    """`late`, `null event time`, why it could not be decoded or was set aside, or what was raised for it."""
    event_time: datetime | None
    tuple: str
    """JSON, or the text as it came; at most LETTER_CHARACTERS of it."""
    cut: bool
    """True if the text was longer."""
    query: str | None = None
    """Whose work it was that failed, as far as known; several names are separated by commas."""
    expression: str | None = None
    """What has no value, NULL, for this tuple or combination of tuples: they were accepted all the same."""


LETTER_CHARACTERS = 65_536
"""A producer may send anything; a thousand letters of a stream are kept in memory."""


class Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = PROTOCOL_VERSION


# Control: backend -> job


class Deploy(Message):
    """Answer exactly these queries from the next batch boundary on."""

    type: Literal["deploy"] = "deploy"
    plan_id: str
    graph: dict[str, Any]
    """A `optimizer.physical.graph.PhysicalGraph` document; validated by the job when it reads it."""
    cause: str = "deployed"
    """Why, for people; the switch repeats it."""
    storage_weight: float | None = None
    """What keeping a tuple for a second costs, in probe tuples, when shapes of grids are chosen. None: as it
    is."""


class Stop(Message):
    """`drain` finishes what has arrived; `now` ends after the running batch."""

    type: Literal["stop"] = "stop"
    mode: Literal["drain", "now"] = "now"


class Expect(Message):
    """What the plan in use is expected to do, by statistics of today.

    Epochs tell it beside what happens.
    """

    type: Literal["expect"] = "expect"
    plan_id: str
    rates: dict[str, float]
    """Tuples per second of event time, by edge and rule."""
    stores: dict[str, float]
    """Tuples held, by store."""
    cores: dict[str, float] = {}
    """Processor seconds per second of event time, by store and by rule that receives and stores none."""
    total_cores: float | None = None
    """The same of the whole topology; None if nothing is expected."""
    batch_s: float | None = None
    """Event time that a batch was taken to span for these."""


class Verified(Message):
    """Until when the continuous check has found the results of queries right.

    Of the plan in use: the job forgets it with that plan.
    """

    type: Literal["verified"] = "verified"
    plan_id: str
    until_us: dict[str, int | None]
    """By query the newest event time, microseconds since 1970; None once they were found to differ."""


Control = Annotated[Deploy | Stop | Expect | Verified, Field(discriminator="type")]
CONTROL: TypeAdapter[Control] = TypeAdapter(Control)


# Events: job -> backend and pages


class Event(Message):
    run: str
    """The run's id, given by whoever launched the job."""
    at: datetime
    """UTC."""


class JobStarted(Event):
    type: Literal["job_started"] = "job_started"
    pid: int
    host: str
    plan_id: str
    batch: int
    """The first batch that this process will work on."""


Phase = Literal["checkpoint", "spark", "query", "batch"]
"""What a job does until its first batch is committed.

It reads its checkpoint, starts Spark, starts the streaming query, and works on that batch.
"""


class Heartbeat(Event):
    """Every two seconds, whatever the batches do, and when a phase begins."""

    type: Literal["heartbeat"] = "heartbeat"
    state: Literal["starting", "running", "idle", "stopping"]
    batch: int
    phase: Phase | None = None
    """None behind the first batch, and while none is on its way."""


class BatchCompleted(Event):
    type: Literal["batch"] = "batch"
    batch: Annotated[int, Metric("number", "The last committed batch.", None, "topology_batch")]
    epoch: int
    plan_id: str
    seconds: Annotated[
        float, Metric("seconds", "Duration of the last batch.", None, "topology_batch_seconds")
    ]
    tuples_in: Annotated[
        int, Metric("tuples", "Tuples that the last batch read.", None, "topology_batch_tuples")
    ]
    backlog: Annotated[
        int | None, Metric("tuples", "Tuples that wait at the sources.", None, "topology_backlog_tuples")
    ]
    """None if the source cannot tell."""
    level_seconds: list[float]
    """From 0 (ingestion) to the deepest level."""
    streams: dict[str, StreamMetrics]
    stores: dict[str, StoreMetrics]
    edges: dict[str, EdgeMetrics]
    queries: dict[str, QueryMetrics]
    latency_ms_p50: Annotated[float | None, Metric("ms", "Median latency, last minute's results.")] = None
    """None without results, like the next one."""
    latency_ms_p99: Annotated[float | None, Metric("ms", "99th percentile of the same.")] = None
    resident_bytes: Annotated[
        int | None,
        Metric("bytes", "Most of the stores in memory, last batch.", None, "topology_batch_resident_bytes"),
    ] = None
    """At one moment, over all partitions at one level; None if the job has no memory limit, when nobody
    counts."""
    shapes: dict[str, list[int]] = {}
    """Rows of each grid of stores that have another shape than in the plan, by store."""
    watermark: Annotated[datetime | None, Metric("UTC", "The topology's watermark, under which it ran.")] = (
        None
    )
    """None before every stream that counts has one."""


class PlanSwitched(Event):
    type: Literal["plan_switched"] = "plan_switched"
    plan_id: str
    epoch: int
    batch: int
    """The first batch that runs under the plan."""
    cause: str
    moved: int = 0
    """Stored tuples that were copied into other tasks or stores."""
    seconds: float = 0.0
    """For how long the batch waited until the state was ready for the plan."""


class ShapeChange(BaseModel, frozen=True):
    """Columns by rows of a store's tasks, as `4x2`; several grids are joined by `+`."""

    before: str
    after: str


class ShapesChanged(Event):
    """Grids took another shape before a batch, for what it brings."""

    type: Literal["shapes_changed"] = "shapes_changed"
    plan_id: str
    epoch: int
    batch: int
    """The first batch in the new shapes."""
    stores: dict[str, ShapeChange]
    """By stream of a store."""
    moved: int
    """Stored tuples that were copied into other tasks."""
    seconds: float
    """For how long the batch waited for it."""


class BatchFailed(Event):
    """A batch failed, and failed again on the same tuples.

    Said when the search for the tuples that it fails with begins, which become dead letters, and again when
    the batch is committed.
    """

    type: Literal["batch_failed"] = "batch_failed"
    plan_id: str
    batch: int
    error: str
    """What it failed with, on one line."""
    set_aside: dict[str, int]
    """Tuples by stream that were set aside; empty while they are searched for."""


class BatchWaits(Event):
    """A batch that waits for a server.

    Said whenever it was tried in vain.
    """

    type: Literal["batch_waits"] = "batch_waits"
    plan_id: str
    batch: int
    reason: str
    """Which server, and what for, on one line."""


class BatchGivenUp(Event):
    """A batch whose plan's steps make too much, or whose queries fail.

    Work on it goes on under the next plan that is deployed; until then nothing is committed.
    """

    type: Literal["batch_given_up"] = "batch_given_up"
    plan_id: str
    batch: int
    steps: dict[str, int]
    """By probe rule of the plan, how many combinations it had come to."""
    most: int
    """How many a step may make in one batch and task; without such a step of no meaning."""
    failed: dict[str, str] = Field(default_factory=dict)
    """By query that fails whatever the tuples are, or that is one of several which share what fails, why: one
    line."""


class DeployRefused(Event):
    """A deploy message that cannot be carried out; the running plan stays."""

    type: Literal["deploy_refused"] = "deploy_refused"
    plan_id: str
    reason: str


class JobStopped(Event):
    type: Literal["job_stopped"] = "job_stopped"
    reason: str


class JobFailed(Event):
    type: Literal["job_failed"] = "job_failed"
    error: str
    """One line."""
    detail: str
    """The traceback."""
    final: bool = False
    """True if the job, launched again as it was, would fail again: it needs more memory than there is."""


class ElementRate(BaseModel, frozen=True):
    estimated: float | None
    """Tuples per second that were expected before the epoch; None if nothing was."""
    actual: float


class CoreUse(BaseModel, frozen=True):
    """Processor time over an epoch: processor seconds per second of the clock."""

    estimated: float | None
    """What was expected before the epoch, of as much event time; None if nothing was."""
    measured: float
    reason: str = ""
    """Why they are more than 1.5 times apart, for people; empty where they are not."""


class QErrorMetrics(BaseModel, frozen=True):
    """How far estimates are from actuals, the larger over the smaller: 1 is exact."""

    median: float
    max: float
    worst: str
    """The element with the largest error, with its two rates."""
    estimated: float
    actual: float


class EpochCompleted(Event):
    """What an epoch did under its last plan; counts are sums over these batches."""

    type: Literal["epoch"] = "epoch"
    epoch: int
    plan_id: str
    first_batch: int
    last_batch: int
    event_seconds: float
    """Of event time; 0 if it did not advance."""
    until_us: int | None = None
    """The newest event time until then, microseconds since 1970; None if there is none."""
    accepted: dict[str, int]
    """New tuples by stream."""
    edges: dict[str, int]
    """Tuples sent along each edge, before copies."""
    rules: dict[str, int]
    """Tuples that each source and probe rule produced."""
    held: dict[str, int]
    """Tuples in each store, on average."""
    sent: int
    """Tuples sent in order to probe, copies counted."""
    rates: dict[str, ElementRate]
    """By edge and rule, estimated by what was known before the epoch; empty if event time did not advance."""
    stores: dict[str, float] = {}
    """Tuples that each store was estimated to hold."""
    cores: dict[str, CoreUse] = {}
    """By store, and by rule that receives tuples and stores none: what tasks took for it."""
    total_cores: CoreUse | None = None
    """Of all tasks and the driver, without Spark's own processes; None if the clock did not advance."""
    shapes: dict[str, list[int]] = {}
    """Rows of each grid of stores that have another shape than in the plan, by store, at the epoch's end."""
    process_cores: float | None = None
    """Of all processes of the job, Spark's too; None where the system does not tell."""
    q_error: QErrorMetrics | None


class StreamsSampled(Event):
    """Some tuples of an epoch, for what its counts do not tell.

    Only the newest one is kept, and no page sees it: these are people's data.
    """

    type: Literal["samples"] = "samples"
    epoch: int
    plan_id: str
    streams: dict[str, Base64Bytes]
    """By stream an Arrow IPC stream of the columns that the plan's predicates read."""


AnyEvent = Annotated[
    JobStarted
    | Heartbeat
    | BatchCompleted
    | EpochCompleted
    | PlanSwitched
    | ShapesChanged
    | BatchFailed
    | BatchWaits
    | BatchGivenUp
    | DeployRefused
    | JobStopped
    | JobFailed,
    Field(discriminator="type"),
]
EVENTS: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
