"""ajoin: sharing between queries drawn as AJoin's experiments draw them, and queries that come and go.

Karimov, Rabl, Markl, AJoin (PVLDB 13(4), 2019), section 7: the template of Figure 14 and equation 3, the
two scenarios SC1 and SC2, and the experiments of Figures 18b, 20 and 21 at the scale of one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.bench.ajoin import adhoc, sharing
from tests.bench.ajoin.adhoc import Case
from tests.bench.ajoin.workload import Template
from tests.bench.curves import Panel, draw
from tests.bench.measurement import Measured, Report
from tests.bench.subjects import measure_in_turns

_SIMILAR = 0.5
_USUAL = Template(3, _SIMILAR)
COMING = tuple(Case(_USUAL, rate, min(100, 20 * rate)) for rate in (1, 5, 20))
LEAVING = tuple(Case(_USUAL, rate, round(rate * adhoc.LIFE_S), leaving=True) for rate in (1, 5, 20))
WAYS = tuple(Case(Template(ways, _SIMILAR), 5, 50) for ways in (2, 3, 4, 5))
AFRESH = Case(_USUAL, 5, 100, afresh=True)


def run_sharing(folder: Path, scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Twenty queries at once.

    Args:
        folder: for the plots.
        scratch: an empty folder for data, state and results.
        scale: of the seconds of event time.
        repeat: runs of each subject; the medians count.
        command: what the person typed, for the report.
    """
    usual = sharing.USUAL
    axes: dict[str, tuple[tuple[float, Template], ...]] = {
        "similarity, %": tuple((100 * s, Template(usual.ways, s)) for s in sharing.SIMILARITIES),
        "patterns": tuple((g, Template(usual.ways, usual.similarity, g)) for g in sharing.GROUPS),
        "streams per query": tuple((w, Template(w, usual.similarity)) for w in sharing.WAYS),
    }
    templates = dict.fromkeys(template for axis in axes.values() for _, template in axis)
    subjects = {template: sharing.subject(scratch, template, sharing.ALL, scale) for template in templates}
    without = [sharing.subject(scratch, usual, way, scale) for way in sharing.WITHOUT]
    measured = measure_in_turns("ajoin-sharing", [*subjects.values(), *without], scratch, repeat)
    by_name = {m.subject: m for m in measured}
    plots = []
    for number, (axis, points) in enumerate(axes.items()):
        done = [(value, by_name[subjects[t].name]) for value, t in points if by_name[subjects[t].name].runs]
        panels = [
            Panel("ms per s of event time", [[run["ms_per_event_s"] for run in m.runs] for _, m in done]),
            Panel("probe steps", [[run["probe_steps"] for run in m.runs] for _, m in done]),
            Panel("sent, estimated, tuples/s", [[run["estimated_sent"] for run in m.runs] for _, m in done]),
        ]
        if done:
            plots.append(
                draw(folder, f"ajoin-sharing-{number}", axis, [v for v, _ in done], panels, log=False)
            )
    notes = _sharing_notes(by_name[subjects[usual].name], [by_name[one.name] for one in without])
    return Report("ajoin-sharing", scale, command, measured, notes, plots=tuple(plots), speeds_compare=False)


def run_adhoc(folder: Path, scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Queries that come and go. Arguments as for `run_sharing`, but `scale` is of the number of queries."""
    axes: dict[str, tuple[str, tuple[Case, ...]]] = {
        "sc1": ("queries that come per second, to so many in parallel (SC1)", COMING),
        "sc2": ("queries that come, and go, per second (SC2)", LEAVING),
        "ways": ("streams per query (5 per second, SC1)", WAYS),
    }
    subjects = {case: adhoc.subject(case.scaled(scale)) for _, cases in axes.values() for case in cases}
    subjects[AFRESH] = adhoc.subject(AFRESH.scaled(scale))
    measured = measure_in_turns("ajoin-adhoc", list(subjects.values()), scratch, repeat)
    by_name = {m.subject: m for m in measured}
    plots = []
    for name, (axis, cases) in axes.items():
        done = [(case, by_name[subjects[case].name]) for case in cases]
        done = [(case, m) for case, m in done if m.runs]
        panels = [
            Panel(label, [[run[figure] for run in m.runs] for _, m in done])
            for label, figure in _PLOTTED
            if all(figure in run for _, m in done for run in m.runs)
        ]
        values = [case.template.ways if cases is WAYS else case.per_second for case, _ in done]
        labels = (
            [f"{case.per_second}, to {case.scaled(scale).parallel}" for case, _ in done]
            if cases is COMING
            else []
        )
        if done:
            plots.append(draw(folder, f"ajoin-adhoc-{name}", axis, values, panels, log=False, labels=labels))
    notes = (*_ADHOC, *_afresh_note(by_name[subjects[COMING[1]].name], by_name[subjects[AFRESH].name]))
    return Report("ajoin-adhoc", scale, command, measured, notes, plots=tuple(plots))


def _sharing_notes(usual: Measured, without: Sequence[Measured]) -> tuple[str, ...]:
    base = usual.median("ms_per_event_s")
    times = [(m.subject, m.median("ms_per_event_s")) for m in without]
    compared = [f"{name} {time / base:.2f}" for name, time in times if time is not None and base is not None]
    return (
        f"{sharing.QUERIES} queries in one topology, drawn from a pattern over streams of "
        f"{sharing.RATE} tuples/s of event time with six attributes of 500 values: windows of 1 to 3 s, a "
        "selection of half of the tuples on every stream. Similarity is AJoin's equation 3; a group is a "
        "pattern with streams of its own, twice as many as a query has. Every run has as many results as "
        "DuckDB, added up over the queries. *ms per s of event time* is what the queries cost while all "
        "streams advance by a second: more similar queries read fewer streams, so that time per tuple would "
        "not compare them.",
        f"The last rows take one part away at a time, from *{usual.subject}*. Guessed selectivities are "
        "those of a planner that knows nothing of predicates; *learnt* plans again every two batches.",
        *([f"Time as a multiple of that with everything: {'; '.join(compared)}."] * bool(compared)),
    )


def _afresh_note(usual: Measured, afresh: Measured) -> tuple[str, ...]:
    figures = {
        "deployment, p50": "deployed_s_p50",
        "deployment, p95": "deployed_s_p95",
        "pressed, tuples/s": "tuples_per_second",
    }
    pairs = [(name, afresh.median(figure), usual.median(figure)) for name, figure in figures.items()]
    compared = [f"{name} {theirs / ours:.2f}" for name, theirs, ours in pairs if theirs and ours]
    if not compared:
        return ()
    return (f"*From nothing* as a multiple of planning on top of the plan in use: {'; '.join(compared)}.",)


_PLOTTED = (
    ("deployed p50, s", "deployed_s_p50"),
    ("deployed p95, s", "deployed_s_p95"),
    ("results' latency p50, ms", "latency_ms_p50"),
    ("pressed, tuples/s", "tuples_per_second"),
)
_ADHOC = (
    f"A running topology with a trigger of {adhoc.TRIGGER_MS} ms under a real Redis, {adhoc.RATE} tuples/s "
    "of each of twice as many streams as a query has. One query runs at the beginning; the newest set of "
    "queries is planned, on top of the plan in use, whenever the planner is free. SC1: queries come and "
    f"stay. SC2: each goes after {adhoc.LIFE_S:.0f} s. *From nothing* plans "
    "every set of queries as if no plan were in use.",
    "*Deployed* is from a request, to add or to remove, until the plan that heeds it is in force; *p50* and "
    "*p99* are the results' latency while queries come and go, from the first request to the switch that "
    "heeds the last one, and in SC2 in the first "
    f"{adhoc.CHANGING_S:.0f} s. *Meanwhile* is what was taken in then, of the streams that some query reads, "
    "and *busy* the share of that time in which a batch was being worked on. *Tuples/s* is what the topology "
    "takes in when it has more to do than it can, behind the last request in SC1, while queries come and go "
    f"in SC2: for {adhoc.PRESSED_S:.0f} s, {adhoc.BLOCK_S} s of every stream at once with every batch that "
    "ends.",
)
