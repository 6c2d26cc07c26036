"""Write the figures of docs/design/simulation.md between its marks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.simulation.campaign import Totals
from tests.simulation.sabotage import DEFECTS
from tests.simulation.world import PROTOCOL

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "design" / "simulation.md"


def write(totals: Path, found: Path) -> None:
    """Write what campaigns and planted defects came to into the document."""
    text = DOCUMENT.read_text()
    if totals.exists():
        text = _between(text, "campaign", _campaign(Totals.read(totals)))
    if found.exists():
        text = _between(text, "sabotage", _sabotage(json.loads(found.read_text())))
    DOCUMENT.write_text(text)


def _between(text: str, name: str, lines: list[str]) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, tail = text.index(begin) + len(begin), text.index(end)
    return text[:head] + "\n".join(lines) + "\n" + text[tail:]


def _campaign(totals: Totals) -> list[str]:
    steps = sorted(
        set(PROTOCOL.values()) | {"elsewhere"},
        key=lambda s: (not s[0].isdigit(), int(s.split(":")[0]) if s[0].isdigit() else 0, s),
    )
    others = sorted(name for name in totals.counts if not name.startswith("step: "))
    return [
        f"{totals.line()}.",
        "",
        "| step in which the disk failed or the process died | times |",
        "|---|---:|",
        *(f"| {step} | {totals.counts[f'step: {step}']} |" for step in steps),
        "",
        "| what happened | times |",
        "|---|---:|",
        *(f"| {name} | {totals.counts[name]} |" for name in others),
    ]


def _sabotage(found: dict[str, dict[str, object]]) -> list[str]:
    lines = ["| defect | about | found by seed |", "|---|---|---:|"]
    for defect in DEFECTS:
        one = found.get(defect.name)
        if one is not None:
            told = one["seeds"] if one["seeds"] is not None else f"not within {one['tried']}"
            lines.append(f"| {defect.name} | {defect.about} | {told} |")
    return lines
