"""Who pays for what runs, on the page and in the file."""

from __future__ import annotations

import csv
import io
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_story import SLOW_MS


def test_what_queries_teams_and_streams_cost_adds_up(page: Page) -> None:
    page.goto("/costs/")
    rows = page.get_by_role("region", name="Costs by query").locator("tbody tr")
    # The first epoch of a run is not measured whole.
    expect(rows.first).to_be_visible(timeout=SLOW_MS)
    expect(page.locator("dl.numbers")).to_contain_text(re.compile(r"cores\s*[0-9]"))
    rows.first.locator("a.row-link").click()
    expect(page).to_have_url(re.compile(r"/queries/\d+/"))
    page.go_back()
    page.get_by_role("button", name="By stream").click()
    expect(page.get_by_role("region", name="Costs by stream")).to_contain_text("departures")
    page.reload()
    expect(page.get_by_role("button", name="By stream")).to_have_attribute("aria-pressed", "true")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download as CSV").click()
    file = downloading.value
    assert file.suggested_filename == "costs-by-stream.csv"
    header, *lines = csv.reader(io.StringIO(file.path().read_text()))
    assert header[:3] == ["stream", "cores", "bytes"]
    assert {line[0] for line in lines} >= {"arrivals", "departures", "weather"}
    told = page.request.get("/api/costs/?by=query").json()
    assert sum(row["cores"] for row in told["rows"]) == pytest.approx(told["total"]["cores"])
    assert sum(row["bytes"] for row in told["rows"]) == pytest.approx(told["total"]["bytes"])


def test_a_topologys_queries_have_what_was_measured_beside_the_plan(page: Page) -> None:
    page.goto("/topologies/flights/")
    page.get_by_role("tab", name="Queries").click()
    queries = page.get_by_role("region", name="Queries", exact=True)
    for label in ("Cost", "Planned cost"):
        expect(queries.get_by_role("columnheader", name=label, exact=True)).to_be_visible()
    place = [cell.strip() for cell in queries.locator("thead th").all_inner_texts()].index("Cost")
    cells = queries.locator(f"tbody tr td:nth-child({place + 1}), tbody tr th:nth-child({place + 1})")
    # The first epoch of a run is not measured whole.
    expect(cells.first).to_contain_text(re.compile(r"\d.*core"), timeout=SLOW_MS)
    told = page.request.get("/api/costs/?by=query&topology=flights").json()
    assert cells.count() == len(told["rows"])
