"""A directory's plan as text for a terminal, or as Markdown for a pull request."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from backend.client.directory_documents import (
    DirectoryPlan,
    JointCost,
    QueryChange,
    QueryShare,
    TopologyPlan,
)
from backend.client.documents import owner_text

_SIGNS = {"create": "+", "change": "~", "delete": "-"}
_PARTNERS = 3
"""Queries that a line names."""
_LEAST = 0.005
"""Of a share, the smallest change that is told."""


def summary(plan: DirectoryPlan) -> str:
    """In one line.

    >>> summary(DirectoryPlan("flights", False, (), (), (), (), (), (), {}))
    'flights: no change'
    """
    told = []
    for kind, changes in (("stream", plan.streams), ("query", plan.queries), ("job", plan.jobs)):
        counts = Counter(one.action for one in changes)
        for action in _SIGNS:
            many = counts[action]
            if many:
                plural = "queries" if kind == "query" else f"{kind}s"
                told.append(f"{many} {kind if many == 1 else plural} to {action}")
    return f"{plan.directory}: {', '.join(told) or 'no change'}"


def as_text(plan: DirectoryPlan) -> str:
    """All of it, as a terminal shows it."""
    lines = [summary(plan)]
    for stream in plan.streams:
        if stream.action != "keep":
            lines += ["", f"{_SIGNS[stream.action]} stream {stream.name}"]
            lines += [f"    {one}" for one in _differing(stream.differences)]
    for query in plan.queries:
        if query.action != "keep":
            lines += ["", f"{_SIGNS[query.action]} query {query.name}: {', '.join(query.what)}"]
            lines += [f"    {query.complete}"] if query.complete is not None else []
            lines += [f"    {line}" for line in _difference(query)]
    for job in plan.jobs:
        if job.action != "keep":
            lines += ["", f"~ job of {job.topology}, from its next start on"]
            lines += [f"    {one}" for one in _differing(job.differences)]
    for topology in plan.topologies:
        lines += ["", f"topology {topology.name}: {_many(topology)}"]
        lines += [f"    {name}: {text}" for name, text in _costs(topology)]
        lines += [f"    {line}" for line in _paying(topology)]
    lines += _notes(plan)
    return "\n".join(lines) + "\n"


def as_markdown(plan: DirectoryPlan) -> str:
    """All of it, for a comment on a pull request."""
    lines = [f"### Millrace plan of {summary(plan)}"]
    priced = [one for one in plan.topologies if one.before is not None or one.after is not None]
    if priced:
        lines += ["", "| topology | queries | cores | memory | latency |", "| --- | --- | --- | --- | --- |"]
        for topology in priced:
            cells = [text for _, text in _costs(topology)]
            lines.append(f"| {topology.name} | {_many(topology)} | {' | '.join(cells)} |")
    paying = [(one, share) for one in plan.topologies for share in _moved(one)]
    if paying:
        lines += ["", "| query | owner | cores | memory | shares |", "| --- | --- | --- | --- | --- |"]
        for _, share in paying:
            paid = (_change(share.cores_before, share.cores_after, ""), _gb(share), _shared(share))
            owner = owner_text(share.owner, share.owner_is_service)
            lines.append(f"| {share.query} | {owner} | {' | '.join(paid)} |")
    for stream in plan.streams:
        if stream.action != "keep":
            lines += ["", f"**{_SIGNS[stream.action]} stream {stream.name}**", ""]
            lines += _listed(stream.differences)
    for query in plan.queries:
        if query.action != "keep":
            complete = "" if query.complete is None else f" ({query.complete})"
            lines += ["", f"**{_SIGNS[query.action]} query {query.name}**: {', '.join(query.what)}{complete}"]
            difference = list(_difference(query))
            if difference:
                # A fence that no line of a text can end.
                fence = "`" * (max(3, 1 + max(_ticks(line) for line in difference)))
                lines += ["", f"{fence}diff", *difference, fence]
    for job in plan.jobs:
        if job.action != "keep":
            lines += ["", f"**~ job of {job.topology}**, from its next start on", ""]
            lines += _listed(job.differences)
    lines += [f"- {line}" if line else line for line in _notes(plan)]
    return "\n".join(lines) + "\n"


Differences: TypeAlias = Sequence[tuple[str, object, object]]
"""Field, before, after."""


def _differing(found: Differences) -> Iterator[str]:
    for name, was, becomes in found:
        yield f"{name}: {_value(was)} -> {_value(becomes)}"


def _listed(found: Differences) -> Iterator[str]:
    for name, was, becomes in found:
        yield f"- {name}: `{_value(was)}` → `{_value(becomes)}`"


def _ticks(line: str) -> int:
    longest = run = 0
    for character in line:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _notes(plan: DirectoryPlan) -> list[str]:
    drift = [f"drift: stream {one.name}: {line}" for one in plan.streams for line in one.drift]
    drift += [f"drift: query {one.name}: {line}" for one in plan.queries for line in one.drift]
    drift += [f"drift: job of {one.topology}: {line}" for one in plan.jobs for line in one.drift]
    left = [f"no longer in the directory, and left as it is: {one} (--prune deletes it)" for one in plan.left]
    refused = [f"refused: {one}" for one in plan.refused]
    found = [*drift, *left, *refused]
    return ["", *found] if found else []


def _difference(query: QueryChange) -> Iterator[str]:
    before, after = query.sql_before or "", query.sql_after or ""
    if before == after:
        return
    name = f"queries/{query.name}.sql"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=3)
    yield from lines


def _many(topology: TopologyPlan) -> str:
    was, becomes = topology.queries_before, topology.queries_after
    many = f"{becomes} quer{'y' if becomes == 1 else 'ies'}"
    return many if was == becomes else f"{was} -> {many}"


def _costs(topology: TopologyPlan) -> Sequence[tuple[str, str]]:
    if not topology.priced:
        return (("cost", "not estimated: that many queries are too much work for one request"),)
    before, after = topology.before, topology.after
    return (
        ("cores", _change(_of(before, "cores"), _of(after, "cores"), "")),
        ("memory", _change(_of(before, "gb"), _of(after, "gb"), " GB")),
        ("latency", _change(_of(before, "latency_ms"), _of(after, "latency_ms"), " ms")),
    )


def _of(cost: JointCost | None, field: str) -> float | None:
    return None if cost is None else float(getattr(cost, field))


def _change(before: float | None, after: float | None, unit: str) -> str:
    """Two estimates, and by how much they differ.

    >>> _change(0.02, 0.03, ""), _change(None, 0.5, " GB"), _change(0.1, 0.1, "")
    ('0.02 -> 0.03 (+50 %)', '0.5 GB', '0.1')
    """
    if before is None or after is None:
        known = after if before is None else before
        gone = "" if after is not None or before is None else " -> nothing"
        return "nothing" if known is None else f"{known:.3g}{unit}{gone}"
    if not before or abs(after - before) < _LEAST * before:
        return f"{after:.3g}{unit}"
    return f"{before:.3g} -> {after:.3g}{unit} ({100 * (after - before) / before:+.0f} %)"


def _gb(share: QueryShare) -> str:
    return _change(share.gb_before, share.gb_after, " GB")


def _moved(topology: TopologyPlan) -> list[QueryShare]:
    """The shares that change, dearest changes first."""
    found = [
        one
        for one in topology.shares
        if _more(one.cores_before, one.cores_after) or _more(one.gb_before, one.gb_after)
    ]
    return sorted(found, key=lambda one: (-((one.cores_after or 0) - (one.cores_before or 0)), one.query))


def _more(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    return abs(after - before) > _LEAST * max(before, after)


def _paying(topology: TopologyPlan) -> Iterable[str]:
    for share in _moved(topology):
        cores = _change(share.cores_before, share.cores_after, " cores")
        shared = _shared(share)
        told = f"; {shared}" if shared else ""
        owner = owner_text(share.owner, share.owner_is_service)
        yield f"{share.query} ({owner}) pays {cores}, {_gb(share)}{told}"


def _shared(share: QueryShare) -> str:
    if share.cores_after is None or not share.shares_with:
        return ""
    names = list(share.shares_with[:_PARTNERS])
    more = len(share.shares_with) - len(names)
    partners = ", ".join(names) + (f" and {more} more" if more else "")
    return f"shares {share.shared_steps} of {share.steps} steps, and stores, with {partners}"


def _value(value: object) -> str:
    return (
        "nothing"
        if value is None or value == ""
        else value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
    )
