"""A page under fire: live updates twenty times a second, a slow processor, and a person's taps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import CDPSession, Locator, Page

from tests.bench.pages.site import Site

UPDATES_PER_S = 20.0
SLOWER = 6
PRESSED_MS = 90
"""From the button going down to its coming up: what happens in between must not lose the tap."""

CONTROLS = "button, a[href], input, select, textarea, summary, [role=tab], svg [tabindex]"
NOTE = f"""() => {{
  window.noted = [...document.querySelectorAll("main")[0].querySelectorAll("{CONTROLS}")];
  return window.noted.length;
}}"""
LOST = """() => window.noted.filter((one) => !one.isConnected).map((one) => one.outerHTML.slice(0, 160))"""


class Updates(threading.Thread):
    """Tells the page's topology of batches; `plan` may be changed meanwhile."""

    def __init__(self, site: Site) -> None:
        super().__init__(name="updates", daemon=True)
        self._site, self._ending = site, threading.Event()
        self.batch, self.plan = 0, 1

    def run(self) -> None:
        while not self._ending.wait(1 / UPDATES_PER_S):
            self.batch += 1
            self._site.tell(self.batch, self.plan)

    def switch(self, plan: int) -> None:
        """Goes over to another plan between two batches."""
        self._site.switch(plan, self.batch + 1)
        self.plan = plan

    def end(self) -> None:
        self._ending.set()
        self.join()


@contextmanager
def under_fire(page: Page, site: Site) -> Iterator[Updates]:
    updates = Updates(site)
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    updates.start()
    try:
        yield updates
    finally:
        updates.end()
        session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        session.detach()


HITS = """(one, [x, y]) => one.contains(document.elementFromPoint(x, y))"""


def tap(page: Page, target: Locator) -> None:
    """What a person does: the pointer goes there, the button goes down, and up a moment later.

    A person sees where it is: they aim again if it moved away before the button went down. What happens from
    then on is the page's fault.
    """
    while True:
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box is not None
        at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        page.mouse.move(*at)
        if target.evaluate(HITS, at):
            break
    page.mouse.down()
    time.sleep(PRESSED_MS / 1000)
    page.mouse.up()
