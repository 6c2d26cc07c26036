"""A person's story: write a windowed three-way join over real flights, deploy it, watch it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

SLOW_MS = 600_000
"""Spark starts within this time even on a busy machine."""

MISTAKEN = """\
SELECT a.flight AS flight, d.delay AS departure_delay, a.delay AS arrival_delay, w.wind_speed AS wind
FROM departures [RANGE 8 HOURS] AS d, arrivals [RANGE 8 HOURS] AS a, weather [RANGE 9 HOURS] AS w
WHERE d.flight = a.flight AND d.tail = a.tail AND d.orign = w.airport AND a.at > d.at
"""


def write(page: Page, sql: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(sql)


def test_from_sql_to_live_answers(page: Page) -> None:
    page.goto("/queries/new/")
    write(page, MISTAKEN)

    problems = page.get_by_label("Problems")
    expect(problems).to_contain_text("orign")
    expect(page.locator(".cm-lintRange-error")).to_have_text("d.orign")
    page.get_by_role("button", name=re.compile(r"^Replace with .*origin")).click()
    expect(page.get_by_text("✓ valid")).to_be_visible()

    page.get_by_label("Name", exact=True).fill("wind-and-delays")
    page.get_by_role("button", name="Deploy").click()
    running = page.get_by_role("link", name=re.compile("^Watch it in"))
    expect(running).to_be_visible(timeout=SLOW_MS)
    running.click()

    expect(page.get_by_role("heading", name="River")).to_be_visible()
    expect(page.locator("svg").first).to_be_visible()
    held = page.get_by_role("region", name="Stores").locator("tbody tr").first
    expect(held).to_contain_text(re.compile(r"[1-9]"), timeout=SLOW_MS)
    before = held.inner_text()
    expect(held).not_to_have_text(before, use_inner_text=True, timeout=SLOW_MS)

    page.get_by_label("Query", exact=True).select_option(label="wind-and-delays")
    rows = page.get_by_role("region", name="Newest results of wind-and-delays").locator("tbody tr")
    expect(rows.first).to_be_visible(timeout=SLOW_MS)
    # Four columns, and the way to the result's path.
    assert rows.first.locator("td").count() == 5


@pytest.mark.parametrize("address", ["/", "/queries/", "/convert/", "/topologies/", "/streams/", "/jobs/"])
def test_every_page_of_the_rail_opens_without_complaint(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("heading").first).to_be_visible()
    expect(page.locator("[data-island]")).not_to_be_empty()


def test_the_catalog_finds_a_query_by_its_stream(page: Page) -> None:
    page.goto("/queries/")
    page.get_by_label("Search queries").fill("stream:weather diverging")
    expect(page.get_by_role("link", name="diverging_wind")).to_be_visible()
    expect(page.get_by_role("link", name="delay_grows")).to_have_count(0)
