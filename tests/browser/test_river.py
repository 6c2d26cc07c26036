"""The river of a plan: one picture of the whole, by pointer, by keyboard, as a table and on a phone."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import barriers
from tests.browser.test_operating import wait_for_results
from tests.browser.test_story import SLOW_MS


def test_the_whole_plan_is_one_picture(page: Page, axe: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    wait_for_results(page)
    page.goto("/topologies/flights/")
    river = page.get_by_role("group", name=re.compile("^River; arrow keys"))
    queries = river.locator(".river-node.query")
    expect(queries.first).to_be_visible(timeout=SLOW_MS)
    plan = page.request.get("/api/topologies/flights/graph/").json()["graph"]
    # Each query once, however many trees lead to it; the picture is whole without scrolling.
    assert sorted(queries.locator("text").all_text_contents()) == sorted(
        query["name"] for query in plan["queries"]
    )
    box = river.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900

    # By cores, what falls on the queries is what the API says.
    expect(page.get_by_role("button", name="cores", exact=True)).to_have_attribute("aria-pressed", "true")
    diverging = queries.filter(has_text="diverging_wind")
    expect(diverging).to_have_accessible_name(re.compile(r"cores fall on it$"))
    diverging.hover()
    expect(river.locator("path.dimmed").first).to_be_attached()
    assert 0 < river.locator("path:not(.dimmed)").count() < river.locator("path").count()
    expect(river.locator(".river-node.stream.dimmed")).to_have_count(2)

    # One stop of Tab; the arrow keys go on, and Enter keeps what is looked at.
    assert river.locator("[tabindex='0']").count() == 1
    river.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    focused = river.locator(".river-node:focus")
    expect(focused).to_have_class(re.compile("step|hold|groups"))
    page.keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-pressed", "true")

    page.get_by_role("button", name="tuples/s", exact=True).click()
    expect(diverging).to_have_accessible_name(re.compile("of event time$"))
    page.get_by_text("As a table").click()
    rows = page.get_by_role("region", name="Places of the river").locator("tbody tr")
    expect(rows.filter(has_text="diverging_wind").first).to_be_visible()
    assert barriers(page, axe) == []

    page.set_viewport_size({"width": 390, "height": 844})
    expect(queries.first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_overview_shows_it_small(page: Page) -> None:
    wait_for_results(page)
    page.goto("/")
    small = page.get_by_role("region", name="River of flights")
    expect(small.get_by_role("img", name="River of the plan")).to_be_visible(timeout=SLOW_MS)
    small.get_by_role("link", name="flights").click()
    expect(page.get_by_role("heading", name="River", exact=True)).to_be_visible(timeout=SLOW_MS)


def test_a_page_that_is_not_there_leads_back(page: Page) -> None:
    # The console's word for a 404 is an error, which every other page must not show.
    answer = page.request.get("/nothing/<here>/")
    assert answer.status == 404
    text = answer.text()
    assert "&lt;here&gt;" in text
    assert 'href="/queries/"' in text
