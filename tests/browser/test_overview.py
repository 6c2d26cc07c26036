"""The first page: what all topologies do, whether anything is wrong, and the way to a first query."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.test_operating import wait_for_results
from tests.browser.test_story import SLOW_MS


def test_a_topology_stands_in_one_row_that_leads_to_it(page: Page) -> None:
    wait_for_results(page)
    page.goto("/")
    rows = page.get_by_role("region", name="Topologies").locator("tbody tr")
    row = rows.filter(has=page.get_by_role("link", name="flights", exact=True))
    expect(row).to_contain_text("running", timeout=SLOW_MS)
    expect(row).to_contain_text(re.compile(r"\d [mµn]?cores"))
    lines = row.locator("svg.sparkline title")
    expect(lines).to_have_text(
        [
            re.compile(r"^Tuples read by flights in each of the last \d+ batches$"),
            re.compile(r"^Results by flights in each of the last \d+ batches$"),
        ],
        timeout=SLOW_MS,
    )
    results = page.get_by_role("region", name="Newest results")
    names = results.locator("tbody .row-link").all_text_contents()
    assert names == sorted(names)
    row.get_by_role("link", name="flights").click()
    expect(page.get_by_role("heading", name="River")).to_be_visible(timeout=SLOW_MS)


def test_the_river_follows_the_width_of_the_page(page: Page) -> None:
    """It moves into its new form, on a page where nothing else moves."""
    page.emulate_media(reduced_motion="no-preference")
    page.goto("/")
    river = page.locator("svg.river").first
    expect(river.locator("path").first).to_be_visible(timeout=SLOW_MS)
    before = river.bounding_box()
    assert before is not None
    page.set_viewport_size({"width": 800, "height": 900})
    page.wait_for_function(
        "([picture, width]) => picture.getBoundingClientRect().width < width",
        arg=[river.element_handle(), before["width"]],
    )
    expect(river.locator("path").first).to_be_visible()


def test_what_is_wrong_leads_to_where_it_is_told(page: Page) -> None:
    """A stopped topology is told of in a line, and no more once it runs again."""
    wait_for_results(page)
    csrf = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    sent = {"X-CSRFToken": csrf, "Referer": page.url}
    assert page.request.post("/api/topologies/flights/stop/", data={}, headers=sent).status == 202
    page.goto("/")
    health = page.get_by_role("region", name="Is anything wrong?")
    stopped = health.get_by_role("status").get_by_role("link", name=re.compile("^flights is stopped"))
    expect(stopped).to_be_visible(timeout=SLOW_MS)
    stopped.click()
    page.wait_for_url("**/jobs/")
    assert page.request.post("/api/topologies/flights/start/", headers=sent).status == 202
    page.goto("/")
    expect(page.get_by_text("flights is stopped")).to_have_count(0, timeout=SLOW_MS)
    wait_for_results(page)
