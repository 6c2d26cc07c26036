"""The page of a topology of 300 stores in Chromium: what opening it, leaving it alone and an update cost.

Two clocks. The page's own (Performance API): from an event's arrival at the page to the frame that shows
it. Chromium's trace: the processor time of the main thread's tasks, which waiting for a processor does not
lengthen. They are read in turns, because tracing costs time too.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.bench.pages.site import NAME, Site

IDLE_S = 4.0
UPDATES = 12
WARMING = 3
APART_S = 0.7
SLOW_MS = 120_000

MARK_UPDATES = """
const add = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (type, listener, ...rest) {
  if (type !== "batch") return add.call(this, type, listener, ...rest);
  return add.call(this, type, (event) => {
    const start = performance.now();
    listener(event);
    // The first task behind the frame's own work: style, layout and paint are done.
    requestAnimationFrame(() => {
      const after = new MessageChannel();
      after.port1.onmessage = () => performance.measure("update", { start, end: performance.now() });
      after.port2.postMessage(null);
    });
  }, ...rest);
};
"""
IDLE_FRAMES = """(seconds) => new Promise((resolve) => {
  const frames = [];
  const first = performance.now();
  const next = () => {
    frames.push(performance.now());
    if (frames.at(-1) - first < seconds * 1000) requestAnimationFrame(next);
    else resolve(frames.slice(1).map((at, i) => at - frames[i]));
  };
  requestAnimationFrame(next);
})"""


@dataclass(frozen=True, slots=True)
class Tasks:
    """Processor time of the main thread's tasks in a stretch of time, milliseconds."""

    cpu_ms: tuple[float, ...]

    @property
    def longest_ms(self) -> float:
        return round(max(self.cpu_ms, default=0.0), 1)

    @property
    def sum_ms(self) -> float:
        return round(sum(self.cpu_ms), 1)


def measure(site: Site) -> dict[str, object]:
    """Opens the page, leaves it alone, updates it, and draws the physical graph."""
    with _opened() as (browser, context):
        context.add_cookies(
            [{"name": name, "value": value, "url": site.url} for name, value in site.cookies.items()]
        )
        page = context.new_page()
        page.add_init_script(MARK_UPDATES)
        page.goto("about:blank")
        began = time.monotonic()
        opening = _traced(browser, page, lambda: _open(page, site))
        opened_s = time.monotonic() - began
        _update(page, site, 0, WARMING)
        idle = _traced(browser, page, lambda: page.wait_for_timeout(IDLE_S * 1000))
        frames: list[float] = page.evaluate(IDLE_FRAMES, IDLE_S)
        page.evaluate("() => performance.clearMeasures()")
        _update(page, site, WARMING, UPDATES)
        updates: list[float] = page.evaluate(
            "() => performance.getEntriesByName('update').map((one) => one.duration)"
        )
        updating = _traced(browser, page, lambda: _update(page, site, WARMING + UPDATES, UPDATES))
        elements = page.evaluate("() => document.querySelectorAll('*').length")
        began = time.monotonic()
        page.get_by_label("Show only one query's paths").select_option("query007")
        page.get_by_role("button", name="Physical graph").click()
        expect(page.locator("svg.physical .node").first).to_be_visible(timeout=SLOW_MS)
        physical_s = time.monotonic() - began
    if len(updates) != UPDATES:
        raise RuntimeError(f"{len(updates)} of {UPDATES} updates were drawn")
    return {
        "stores": len(site.graph.stores),
        "edges": len(site.graph.edges),
        "queries": len(site.graph.queries),
        "elements": elements,
        "opened_s": round(opened_s, 2),
        "opening_cpu_ms": opening.sum_ms,
        "idle_longest_task_cpu_ms": idle.longest_ms,
        "idle_cpu_ms_per_s": round(idle.sum_ms / IDLE_S, 1),
        "idle_frame_ms_median": round(statistics.median(frames), 1),
        "updates": UPDATES,
        "update_ms_median": round(statistics.median(updates), 1),
        "update_ms_max": round(max(updates), 1),
        "update_longest_task_cpu_ms": updating.longest_ms,
        "update_cpu_ms": round(updating.sum_ms / UPDATES, 1),
        "physical_graph_s": round(physical_s, 2),
    }


@contextmanager
def _opened() -> Iterator[tuple[Browser, BrowserContext]]:
    found = os.environ.get("MILLRACE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    # As root in a container, Chromium's own sandbox cannot be set up.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        try:
            yield browser, browser.new_context(viewport={"width": 1280, "height": 900})
        finally:
            browser.close()


def _open(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/topologies/{NAME}/")
    expect(page.locator("svg.forest .node").first).to_be_visible(timeout=SLOW_MS)


def _update(page: Page, site: Site, first: int, count: int) -> None:
    for batch in range(first, first + count):
        site.tell(batch)
        page.wait_for_timeout(APART_S * 1000)


def _traced(browser: Browser, page: Page, work: Callable[[], None]) -> Tasks:
    browser.start_tracing(page=page, categories=["toplevel"])
    work()
    events: Sequence[dict[str, object]] = json.loads(browser.stop_tracing())["traceEvents"]
    mains = {
        (one["pid"], one["tid"])
        for one in events
        if one.get("name") == "thread_name" and one["args"] == {"name": "CrRendererMain"}
    }
    tasks = [one for one in events if one.get("ph") == "X" and (one["pid"], one["tid"]) in mains]
    # Tasks contain one another: only the outermost count.
    tasks.sort(key=lambda one: (_number(one, "ts"), -_number(one, "dur")))
    cpu: list[float] = []
    until = 0.0
    for one in tasks:
        if _number(one, "ts") >= until:
            until = _number(one, "ts") + _number(one, "dur")
            cpu.append(_number(one, "tdur") / 1000)
    return Tasks(tuple(cpu))


def _number(event: dict[str, object], key: str) -> float:
    value = event.get(key, 0)
    assert isinstance(value, int | float)
    return float(value)
