"""What people do with a topology that runs: ask where a result came from, look after tuples that
were turned away, be told, use it from a terminal, shade and save its picture."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, RunningProduct
from tests.browser.jobs_page import job_of
from tests.browser.test_story import SLOW_MS

PAIRS = """SELECT d.flight, w.wind_speed
FROM departures [RANGE 50 MINUTES] AS d, weather [RANGE 50 MINUTES] AS w
WHERE d.origin = w.airport AND d.delay > 30 AND w.wind_speed > 20
"""


def wait_for_results(page: Page, query: str = "made_up_in_wind") -> None:
    """Until the demo's topology has answered."""
    page.goto("/topologies/flights/")
    page.get_by_label("Query", exact=True).select_option(label=query)
    rows = page.get_by_role("region", name=f"Newest results of {query}").locator("tbody tr")
    expect(rows.first).to_be_visible(timeout=SLOW_MS)


def test_a_result_tells_its_path(page: Page) -> None:
    wait_for_results(page)
    page.get_by_role("button", name="How row 1 came about").click()
    path = page.get_by_role("region", name="How the result came about")
    steps = path.locator("ol.path > li")
    expect(steps.first).to_contain_text("came last")
    # A three-way join: two stores, or one that keeps the other two joined. The plan follows the
    # statistics, and whichever tuple came last began.
    expect(steps.nth(1)).to_contain_text("probed")
    for alias in "dwa":
        expect(path.get_by_text(alias, exact=True).first).to_be_visible()
    # What was checked on the way; whichever of the two came first stands on the right.
    either = "|".join(
        rf"{left} = {right}|{right} = {left}"
        for left, right in ((r"d\.origin", r"w\.airport"), (r"a\.flight", r"d\.flight"))
    )
    expect(path).to_contain_text(re.compile(either))
    steps.nth(1).get_by_role("link").click()
    expect(page.locator("svg .node.selected, svg [aria-selected='true']").first).to_be_visible(
        timeout=SLOW_MS
    )


def test_dead_letters_are_corrected_and_discarded(page: Page) -> None:
    wait_for_results(page)
    token = page.context.cookies()
    csrf = next(cookie["value"] for cookie in token if cookie["name"] == "csrftoken")
    late = [{"at": f"2012-01-0{day}T00:00:00Z", "flight": f"late{day}"} for day in (1, 2)]
    sent = page.request.post(
        "/api/streams/departures/events/", data=late, headers={"X-CSRFToken": csrf, "Referer": page.url}
    )
    assert sent.status == 202, sent.text()
    page.goto("/streams/departures/")
    letters = page.get_by_role("region", name="Dead letters", exact=True)
    row = letters.get_by_role("row").filter(has_text="late1").first
    expect(row).to_contain_text("flights", timeout=SLOW_MS)
    row.get_by_role("button", name="correct").click()
    page.get_by_label("The corrected tuple").fill("{")
    page.get_by_role("button", name="Send it").click()
    expect(letters.get_by_role("alert")).to_contain_text("not JSON")
    page.get_by_label("The corrected tuple").fill(
        json.dumps({"at": "2012-01-03T00:00:00Z", "flight": "mended"})
    )
    page.get_by_role("button", name="Send it").click()
    expect(letters.get_by_role("status")).to_contain_text("One tuple was sent again.")
    # It is still too late, so it comes back; the one that it replaced does not.
    expect(letters.get_by_role("row").filter(has_text="mended")).to_have_count(1, timeout=SLOW_MS)
    expect(letters.get_by_role("row").filter(has_text="late1")).to_have_count(0)
    letters.get_by_label("Choose all letters").check()
    letters.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(letters).to_contain_text("No dead letters", timeout=SLOW_MS)
    page.goto("/jobs/")
    job = job_of(page, "flights")
    job.get_by_text("Audit trail").click()
    expect(job.get_by_role("region", name="Audit trail of flights")).to_contain_text("discard")


def test_an_alert_is_made_and_tried(page: Page) -> None:
    page.goto("/alerts/")
    page.get_by_role("button", name="New alert").click()
    form = page.get_by_role("form", name="New alert")
    form.get_by_label("Name").fill("night shift")
    form.get_by_label("To", exact=True).fill("http://127.0.0.1:9/hook")
    form.get_by_role("button", name="Make it").click()
    # It is tried at once, and the worker's answer is waited for: what is private is not even asked.
    refused = re.compile("not delivered.*(no public address|refused)")
    expect(page.get_by_role("alert").filter(has_text="night shift")).to_contain_text(refused, timeout=SLOW_MS)
    row = page.get_by_role("row").filter(has_text="night shift")
    expect(row).to_contain_text("it fails, stands still for 1 min")
    expect(row).to_contain_text(refused)
    row.get_by_role("button", name="Messages").click()
    messages = page.get_by_role("region", name="Messages of night shift")
    expect(messages).to_contain_text(re.compile("no public address|refused"))
    row.get_by_role("button", name="Delete night shift").click()
    expect(page.get_by_text("No alerts yet")).to_be_visible()


def test_the_command_works_with_a_token_of_the_page(
    page: Page, product: RunningProduct, tmp_path: Path
) -> None:
    page.goto("/tokens/")
    name = f"terminal {os.getpid()}"
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Make a token").click()
    secret = page.locator("code.secret").inner_text()

    def millrace(*words: str) -> str:
        environment = {
            **os.environ,
            "MILLRACE_URL": product.url,
            "MILLRACE_TOKEN": secret,
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "backend.client", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "gusty.sql").write_text(PAIRS)
    assert "flights answers it" in millrace("deploy", "gusty.sql", "--wait", "180")
    assert "gusty" in millrace("status")
    for line in millrace("tail", "made_up_in_wind", "--once", "--limit", "3").splitlines():
        assert "wind_speed" in json.loads(line)
    assert millrace("stop", "gusty") == "flights no longer answers gusty\n"
    page.get_by_role("button", name=f"Revoke {name}").click()
    expect(page.get_by_role("button", name=f"Revoke {name}")).to_have_count(0)


def test_plans_are_shaded_saved_and_compared(page: Page) -> None:
    page.goto("/topologies/flights/?view=trees&tab=Epochs")
    expect(page.get_by_role("heading", name="Probe trees")).to_be_visible(timeout=SLOW_MS)
    expect(page.locator(".forest-host svg .node").first).to_be_visible(timeout=SLOW_MS)
    for shade in ("cost", "load", "skew", "query"):
        page.get_by_label("Shade").select_option(shade)
        expect(page.locator(".legend .scale")).to_be_visible()
    for form, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=form, exact=True).click()
        saved = Path(waiting.value.path())
        assert re.fullmatch(rf"flights.*\.{form.lower()}", waiting.value.suggested_filename)
        assert start in saved.read_bytes()[:200]
