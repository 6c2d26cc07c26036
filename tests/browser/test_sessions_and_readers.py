"""A person's story: sessions, and a query that reads another one's groups, on the real product."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.test_operating import wait_for_results
from tests.browser.test_story import SLOW_MS, write

SESSIONS = """\
SELECT SESSION(d.at, INTERVAL 30 MINUTES) AS since, d.carrier, d.origin, COUNT(*) AS departed
FROM departures AS d GROUP BY since, d.carrier, d.origin
"""
HOURLY = """\
SELECT TUMBLE(d.at, INTERVAL 1 HOUR) AS hour, d.origin, COUNT(*) AS departed
FROM departures AS d GROUP BY hour, d.origin
"""
READER = """\
SELECT h.hour, h.origin, h.departed, w.wind_speed
FROM departed_hourly [RANGE 2 HOURS] AS h JOIN weather [RANGE 2 HOURS] AS w ON w.airport = h.origin
"""


def deploy(page: Page, name: str, sql: str) -> None:
    page.goto("/queries/new/")
    write(page, sql)
    expect(page.get_by_text("✓ valid")).to_be_visible(timeout=SLOW_MS)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Deploy").click()
    expect(page.get_by_role("link", name=re.compile("^Watch it in"))).to_be_visible(timeout=SLOW_MS)


def answers_and_is_verified(page: Page, name: str) -> None:
    query = next(one for one in page.request.get("/api/queries/").json() if one["name"] == name)
    page.goto(f"/queries/{query['id']}/")
    results = page.get_by_role("region", name=re.compile("^Newest results of")).locator("tbody tr")
    expect(results.first).to_be_visible(timeout=SLOW_MS)
    until = (
        page.locator("dl[aria-label='What the query does now'] div")
        .filter(has=page.locator("dt", has_text="verified until"))
        .locator("dd")
    )
    expect(until).to_have_text(re.compile(r"2013-\d\d-\d\d"), timeout=SLOW_MS)
    expect(page.locator(".toolbar .light")).to_contain_text(re.compile(r"[1-9][\d,]* results? equal"))


def test_sessions_and_results_that_are_read_are_verified_and_drawn(page: Page) -> None:
    wait_for_results(page)
    deploy(page, "departed_in_a_row", SESSIONS)
    deploy(page, "departed_hourly", HOURLY)
    deploy(page, "departed_in_wind", READER)
    answers_and_is_verified(page, "departed_in_a_row")
    answers_and_is_verified(page, "departed_in_wind")
    graph = page.get_by_role("img", name="Join graph of h, w: h.origin = w.airport")
    expect(graph).to_contain_text("departed_hourly")
    expect(graph).to_contain_text("weather")
