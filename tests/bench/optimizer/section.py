"""The Markdown section of the optimizer's benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.bench.optimizer.measure import (
    FREE,
    PAID,
    ROWS,
    FirstPlan,
    Heuristic,
    Literal,
    Scaling,
    Solved,
    middle,
)
from tests.bench.optimizer.prices import Price


def section(
    solved: Sequence[Solved],
    literals: Sequence[Literal],
    gaps: Sequence[Heuristic],
    points: Sequence[Scaling],
    firsts: Sequence[FirstPlan],
    *,
    unseen: Sequence[Solved],
    prices: Sequence[Price],
    plots: Sequence[str],
    limit_s: float,
    machine: str,
) -> str:
    """All tables, then the figures."""
    parts = [
        "## optimizer\n",
        "Random instances of dissertation section 7.3.3 (relations with three attributes, each joining "
        "exactly one other; selectivity of one over the rate). Model building included, one solver "
        f"thread, at most {limit_s:g} s; median and worst run over seeds and over uniform and varied "
        "rates. A gap is the part of the cost that is not proven necessary. The dissertation used "
        "Gurobi 9. *Free*: copies cost nothing; *paid*: weight 1 per stored tuple, N = 4. "
        f"{machine}\n",
        _table(
            (
                "queries x size, relations",
                "dissertation",
                "target",
                "free, s (worst)",
                "free, CPU s",
                "free, gap",
                "paid, s (worst)",
                "paid, CPU s",
                "paid, gap",
            ),
            _target_rows(solved),
        ),
        "### A seed that nothing was tuned on\n",
        _table(
            ("instance", "copies", "rates", "seed", "seconds", "CPU s", "gap", "status"),
            (
                (
                    *(run.row, run.copies, run.rates, str(run.seed)),
                    *(f"{run.wall_s:.2f}", f"{run.cpu_s:.2f}", _percent(run.gap), run.status),
                )
                for run in unseen
            ),
        ),
        "### The literal program of chapter 7, same solver, same limit\n",
        _table(
            ("instance", "copies", "seed", "probe orders", "columns", "rows", "seconds", "gap"),
            (
                (
                    r.row,
                    r.copies,
                    str(r.seed),
                    str(r.orders),
                    str(r.columns),
                    str(r.rows),
                    f"{r.wall_s:.2f}",
                    "no plan" if r.gap is None else _percent(r.gap),
                )
                for r in literals
            ),
        ),
        "### Heuristics: cost above the optimum (or above the bound), free copies\n",
        _table(("instance", "rates", "method", "median", "worst", "seconds"), _gap_rows(gaps)),
        "### First plans for 100 five-way queries\n",
        _table(
            ("relations", "first plan, ms (target 50)", "with local search, s (target 1)"),
            ((str(f.relations), f"{f.first_s * 1000:.0f}", f"{f.greedy_s:.2f}") for f in firsts),
        ),
        "### The price of one more query on a plan of a hundred (target 50 ms)\n",
        _table(
            ("query", "inputs", "median, CPU ms", "worst, CPU ms", "exact"),
            (
                (
                    *(p.shape, str(p.inputs), f"{p.median_ms:.1f}", f"{p.worst_ms:.1f}"),
                    "yes" if p.exact else "at most",
                )
                for p in prices
            ),
        ),
        "### Sharing: three-way queries\n",
        _table(
            ("relations", "asked for", "distinct", "individual", "joint", "saved", "seconds"),
            _scaling_rows(points),
        ),
        *(f"![{name}](benchmarks/{name})\n" for name in plots),
    ]
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"


def _target_rows(solved: Sequence[Solved]) -> Iterable[Sequence[str]]:
    for row in ROWS:
        cells = [row.label, row.dissertation or "-", f"{row.target_s:g} s"]
        found = False
        for copies in (FREE, PAID):
            runs = [run for run in solved if run.row == row.label and run.copies == copies]
            if not runs:
                cells += ["-", "-", "-"]
                continue
            found = True
            seconds = [run.wall_s for run in runs]
            cells.append(f"{middle(seconds):.2f} ({max(seconds):.2f})")
            cells.append(f"{middle([run.cpu_s for run in runs]):.2f}")
            cells.append(_percent(max(run.gap for run in runs)))
        if found:
            yield cells


def _gap_rows(gaps: Sequence[Heuristic]) -> Iterable[Sequence[str]]:
    groups: dict[tuple[str, str, str], list[Heuristic]] = {}
    for gap in gaps:
        groups.setdefault((gap.row, gap.rates, gap.method), []).append(gap)
    for key, found in groups.items():
        above = [gap.above for gap in found]
        yield (
            *key,
            _percent(middle(above)),
            _percent(max(above)),
            f"{middle([gap.wall_s for gap in found]):.2f}",
        )


def _scaling_rows(points: Sequence[Scaling]) -> Iterable[Sequence[str]]:
    groups: dict[tuple[int, int], list[Scaling]] = {}
    for point in points:
        groups.setdefault((point.relations, point.asked), []).append(point)
    for (relations, asked), found in sorted(groups.items()):
        individual, joint = middle([p.individual for p in found]), middle([p.joint for p in found])
        yield (
            str(relations),
            str(asked),
            f"{middle([p.queries for p in found]):g}",
            f"{individual:,.0f}",
            f"{joint:,.0f}",
            f"{100 * (1 - joint / individual):.0f} %",
            f"{middle([p.wall_s for p in found]):.2f}",
        )
