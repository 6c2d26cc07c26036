"""`python -m tests.screenshots [--url URL] [--out DIR]`: every page, light and dark, wide and narrow.

Starts the product with its demo (or looks at one that runs), waits until its topology answers, and
writes NAME-THEME-WIDTH.png. Look at them before they are committed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

from backend.run.setting import free_port
from tests.browser.jobs_page import job_of

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "screenshots"
WIDTHS = {1280: 900, 390: 844}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SLOW_MS = 240_000
"""Spark starts within this time even on a busy machine."""
PAGES = {
    "overview": "/",
    "queries": "/queries/",
    "query-new": "/queries/new/",
    "query": "/queries/{query}/",
    "preview": "/queries/{query}/",
    "past-texts": "/queries/{query}/",
    "versions": "/queries/{query}/",
    "checks": "/queries/{query}/",
    "convert": "/convert/",
    "topologies": "/topologies/",
    "topology": "/topologies/flights/",
    "probe-trees": "/topologies/flights/?view=trees",
    "physical-graph": "/topologies/flights/?view=graph",
    "together-and-alone": "/topologies/flights/?view=beside",
    "receipt": "/topologies/flights/?tab=Receipt",
    "past-epoch": "/topologies/flights/?tab=Steps",
    "batches": "/topologies/flights/?tab=Batches",
    "log": "/topologies/flights/?tab=Log",
    "epochs": "/topologies/flights/?tab=Epochs",
    "steps": "/topologies/flights/?tab=Steps",
    "topology-streams": "/topologies/flights/?tab=Streams",
    "topology-queries": "/topologies/flights/?tab=Queries",
    "forecasts": "/topologies/flights/?tab=Forecasts",
    "history": "/topologies/flights/?tab=History&past=hour",
    "streams": "/streams/",
    "stream": "/streams/departures/",
    "jobs": "/jobs/",
    "costs": "/costs/",
    "alerts": "/alerts/",
    "tokens": "/tokens/",
    "teams": "/teams/",
    "accounts": "/accounts/",
    "account": "/account/security/",
}
"""Name of the picture: address."""


def open_preview(page: Page) -> None:
    page.get_by_role("button", name="Preview").click()
    expect(
        page.get_by_role("region", name="Preview", exact=True).locator("table, .empty").first
    ).to_be_visible(timeout=SLOW_MS)


def open_conversion(page: Page) -> None:
    page.get_by_label("SQL with joins in any nesting").fill(
        "SELECT t.flight, w.wind_speed FROM (SELECT d.flight, d.origin FROM departures AS d "
        "JOIN arrivals AS a ON d.tail = a.tail) AS t JOIN weather AS w ON t.origin = w.airport"
    )
    page.get_by_role("button", name="Convert", exact=True).click()
    page.get_by_role("tree").last.wait_for(timeout=SLOW_MS)


def open_checks(page: Page) -> None:
    page.get_by_role("tab", name="Checks").click()
    expect(page.get_by_role("region", name="Checks").locator("tbody tr").first).to_be_visible(timeout=SLOW_MS)


def open_past_epoch(page: Page) -> None:
    # Without an epoch that has ended it can be focused, and does not hear keys.
    expect(page.get_by_label("Look back")).to_be_enabled(timeout=SLOW_MS)
    page.get_by_label("Look back").press("ArrowLeft")
    expect(page.get_by_text("All numbers are those of epoch")).to_be_visible()


def open_job(page: Page) -> None:
    job = job_of(page, "flights")
    # From below: what opens moves what is under it, also once more when its content comes.
    for summary in (
        "Audit trail",
        "Memory",
        "Job settings",
        "Planner",
        "Scale",
        "Queries and where they run",
        "Batches by level",
    ):
        job.get_by_text(summary, exact=True).click()
    job.get_by_label("Tasks of departures").wait_for()
    job.get_by_label("Method").wait_for()
    job.get_by_label("Batches of an epoch").wait_for()
    job.locator("svg.level-bars").wait_for(timeout=SLOW_MS)


OPENED: dict[str, Callable[[Page], None]] = {
    "preview": open_preview,
    "past-texts": lambda page: page.get_by_role("button", name="History").click(),
    "versions": lambda page: page.get_by_role("tab", name="Versions").click(),
    "checks": open_checks,
    "convert": open_conversion,
    "alerts": lambda page: page.get_by_role("button", name="New alert").click(),
    "jobs": open_job,
    "past-epoch": open_past_epoch,
}
"""What is opened on a page before its picture is taken and it is tested."""


@contextmanager
def running_product() -> Iterator[str]:
    """The product on files of its own, for as long as the block lasts; yields its address."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PORT": str(free_port()), "MILLRACE_HOME": home}
        environment.pop("REDIS_URL", None)
        process = subprocess.Popen(
            [sys.executable, "-m", "backend.run"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.match(r"Millrace\s+(http\S+)", line):
                    yield found.group(1)
                    break
            else:
                raise SystemExit("the product did not start; see what it said above")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=90)


def sign_in(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Account").fill("demo")
    page.get_by_label("Password").fill(os.environ.get("MILLRACE_DEMO_PASSWORD", "millrace"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation", name="Main").wait_for()


def take(browser: Browser, url: str, out: Path, names: list[str]) -> None:
    """Write the pictures of the pages called `names`."""
    first = browser.new_page(base_url=url)
    sign_in(first)
    first.goto("/topologies/flights/")
    first.get_by_role("region", name="Stores").locator("tbody tr").first.wait_for(timeout=SLOW_MS)
    state = first.context.storage_state()
    query = first.request.get("/api/queries/").json()[0]["id"]
    first.close()
    for theme in THEMES:
        for width, height in WIDTHS.items():
            page = browser.new_page(
                base_url=url,
                storage_state=state,
                color_scheme=theme,
                reduced_motion="reduce",
                viewport={"width": width, "height": height},
            )
            for name in names:
                page.goto(PAGES[name].format(query=query))
                page.get_by_role("heading").first.wait_for()
                expect(page.get_by_text("Loading")).to_have_count(0, timeout=SLOW_MS)
                if name in OPENED:
                    OPENED[name](page)
                # What was opened may be far down; a whole page begins at its top.
                page.evaluate("(whole) => whole && window.scrollTo(0, 0)", width > 1000)
                # Live numbers need two batches; a picture, unlike a test, may wait for the clock.
                page.wait_for_timeout(1500)
                page.screenshot(path=out / f"{name}-{theme}-{width}.png", full_page=width > 1000)
            page.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("--url", help="of a product that runs already")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"of {', '.join(PAGES)} (all)")
    options = parser.parse_args()
    for name in options.pages:
        if name not in PAGES:
            parser.error(f"found page {name}, expected one of {', '.join(PAGES)}")
    options.out.mkdir(parents=True, exist_ok=True)
    found = os.environ.get("MILLRACE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        if options.url is not None:
            take(browser, options.url, options.out, options.pages or list(PAGES))
        else:
            with running_product() as url:
                take(browser, url, options.out, options.pages or list(PAGES))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
