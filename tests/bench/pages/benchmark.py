"""What the pages cost at full size: a topology of 300 stores in a browser, and 200 pages that listen."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.measurement import describe_machine
from tests.bench.pages import drawing, listening
from tests.bench.pages.site import site

PAGES = 200


def run(folder: Path, scratch: Path, scale: float, command: str) -> None:
    """Writes FOLDER/pages.json and FOLDER/pages.md.

    Args:
        folder: for the results.
        scratch: an empty folder.
        scale: of the number of pages that listen.
        command: what the person typed, for the report.
    """
    with site(scratch) as made:
        drawn = drawing.measure(made)
        heard = listening.measure(made, max(2, round(PAGES * scale)))
    document = {
        "benchmark": "pages",
        "scale": scale,
        "command": command,
        "drawing": drawn,
        "listening": heard,
        "machine": describe_machine(),
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (folder / "pages.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "pages.md").write_text(_section(document, drawn, heard))


def _section(document: dict[str, object], drawn: dict[str, object], heard: dict[str, object]) -> str:
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items())
    large, small = heard["large_delay_ms"], heard["small_delay_ms"]
    assert isinstance(large, dict)
    assert isinstance(small, dict)
    rows = {
        "page opened until its trees are drawn, s (processor ms of the page)": (
            f"{drawn['opened_s']} ({drawn['opening_cpu_ms']})"
        ),
        "left alone: longest task, processor ms (aim: 16)": f"{drawn['idle_longest_task_cpu_ms']}",
        "left alone: processor ms of the page per second": f"{drawn['idle_cpu_ms_per_s']}",
        "update, from the event in the page to the painted frame, ms (aim: 100)": (
            f"median {drawn['update_ms_median']}, longest {drawn['update_ms_max']} of {drawn['updates']}"
        ),
        "update: processor ms of the page, longest task": (
            f"{drawn['update_cpu_ms']}, {drawn['update_longest_task_cpu_ms']}"
        ),
        "physical graph of one query laid out and drawn, s": f"{drawn['physical_graph_s']}",
        "elements in the page": f"{drawn['elements']:,}",
        f"{heard['pages']} pages connected within, s": f"{heard['connected_s']}",
        f"events lost, of {heard['sent']} to each page": f"{heard['lost']}",
        "a batch of all stores, sent to heard, ms": _delays(large),
        "a heartbeat, sent to heard, ms": _delays(small),
        "the server's memory per page, kB: connected, after all events": (
            f"{heard['web_kb_per_page_connected']}, {heard['web_kb_per_page_listening']}"
        ),
        "the server's processor seconds for all events": f"{heard['web_cpu_s']}",
    }
    lines = [
        "## pages\n",
        f"A topology of {drawn['stores']} stores, {drawn['edges']:,} edges and {drawn['queries']} queries: "
        "its page in Chromium, and pages that listen to its events, each a connection of its own to the "
        "server that `make run` starts. Every second one loses its connection half-way and comes back with "
        "its last id. Browser, pages and server share the machine.\n",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows.items()),
        "",
        f"`{document['command']}`, {document['taken_at']}. {machine}.\n",
    ]
    return "\n".join(lines)


def _delays(delays: dict[str, float]) -> str:
    return f"p50 {delays['p50']}, p99 {delays['p99']}, longest {delays['max']}"
