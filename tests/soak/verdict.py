"""Whether a soak passes: nothing missing, doubled or wrong; flat; in time; and again and again recovered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.soak.faults import KINDS, Fault
from tests.soak.judging import Judgement

GROWN = 0.10
"""Share by which the last quarter of the load may lie above the third one. A leak that matters in a day
shows in less; the sawteeth of collections, compactions and restarts stay below it."""
MEMORY_FLOOR_BYTES, DISK_FLOOR_BYTES = 128 << 20, 32 << 20
"""Less than this is no growth: one restart of Java, or one rewriting of Redis' log, moves as much."""
KEPT_FOR_EVER = ("results", "database", "logs")
"""What grows with what was asked for: results are kept, and the database has a row for each change."""
QUIET_P99_MS = 5000.0
"""From arrival to commit, while no fault holds anything up."""
RECOVERED_S = 90.0


@dataclass(frozen=True, slots=True)
class Line:
    """One part of the verdict."""

    what: str
    found: str
    bound: str
    holds: bool
    exact: bool
    """True if it depends on no machine: this must hold wherever the soak runs."""


def lines(
    judgement: Judgement,
    faults: Sequence[Fault],
    samples: Sequence[Mapping[str, Any]],
    load: tuple[float, float],
) -> tuple[Line, ...]:
    """Every part of the verdict."""
    total = judgement.total
    reasons = judgement.dead_letters
    recovery = [fault.recovered_at - fault.at for fault in faults if fault.recovered_at is not None]
    lost = [fault.kind for fault in faults if fault.recovered_at is None]
    injected = Counter(fault.kind for fault in faults)
    p99 = judgement.quiet_latency_ms[1]
    inside = [sample for sample in samples if load[0] <= sample["at"] <= load[1]]
    return (
        Line("results missing", f"{total('missing')} of {total('needed')}", "0", total("missing") == 0, True),
        Line("results doubled", f"{total('doubled')} of {total('found')}", "0", total("doubled") == 0, True),
        Line("results that are none", str(total("wrong")), "0", total("wrong") == 0, True),
        Line("results needed", str(total("needed")), "more than 0", total("needed") > 0, True),
        Line("tuples sent and never read", str(judgement.unread), "0", judgement.unread == 0, True),
        Line(
            "streams counted otherwise",
            ", ".join(f"{s}: {a} not {b}" for s, (a, b) in judgement.miscounted.items()) or "none",
            "none",
            not judgement.miscounted,
            True,
        ),
        Line(
            "garbage among the dead letters",
            str(reasons.get("undecodable", 0)),
            str(judgement.garbage),
            reasons.get("undecodable", 0) == judgement.garbage,
            True,
        ),
        Line(
            "faults",
            ", ".join(f"{kind} {many}" for kind, many in sorted(injected.items())) or "none",
            "every kind, or none",
            not injected or set(injected) == set(KINDS),
            True,
        ),
        Line("faults not recovered from", ", ".join(lost) or "none", "none", not lost, True),
        Line(
            "longest recovery, s",
            f"{max(recovery, default=0.0):.1f}",
            f"{RECOVERED_S:.0f}",
            max(recovery, default=0.0) <= RECOVERED_S,
            False,
        ),
        Line("p99 of quiet times, ms", f"{p99:.0f}", f"{QUIET_P99_MS:.0f}", p99 <= QUIET_P99_MS, False),
        _flat("memory", inside, load, memory_of, MEMORY_FLOOR_BYTES),
        _flat("Redis' data", inside, load, lambda s: s["redis_used"], MEMORY_FLOOR_BYTES),
        _flat("disk", inside, load, disk_of, DISK_FLOOR_BYTES),
        _flat("Redis' log", inside, load, lambda s: s["disk"]["redis log"], MEMORY_FLOOR_BYTES),
    )


def memory_of(sample: Mapping[str, Any]) -> int:
    """PSS of all processes."""
    return sum(sample["memory"].values())


def disk_of(sample: Mapping[str, Any]) -> int:
    """The checkpoint and shared memory. Redis' log is judged apart: it is rewritten at twice its size."""
    apart = {*KEPT_FOR_EVER, "redis log"}
    return sum(size for part, size in sample["disk"].items() if part not in apart)


def _flat(
    what: str,
    samples: Sequence[Mapping[str, Any]],
    load: tuple[float, float],
    figure: Callable[[Mapping[str, Any]], int | None],
    floor: int,
) -> Line:
    """The 90th percentile of the load's last quarter against that of the third one."""
    quarter = (load[1] - load[0]) / 4
    levels = []
    for number in (2, 3):
        begin = load[0] + number * quarter
        values = [
            value
            for sample in samples
            if begin <= sample["at"] < begin + quarter and (value := figure(sample)) is not None
        ]
        levels.append(float(np.percentile(values, 90)) if values else float("nan"))
    third, last = levels
    most = third + max(GROWN * third, floor)
    return Line(
        f"{what}: last quarter, MB",
        f"{last / 1e6:.0f}",
        f"{most / 1e6:.0f} (third quarter {third / 1e6:.0f})",
        last <= most,
        False,
    )
