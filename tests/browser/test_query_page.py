"""A query's page: its results and numbers within the first screen, and what can be done where one looks."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_operating import wait_for_results
from tests.browser.test_story import SLOW_MS


def open_query(page: Page, name: str) -> None:
    wait_for_results(page)
    query = next(one for one in page.request.get("/api/queries/").json() if one["name"] == name)
    page.goto(f"/queries/{query['id']}/")


def first_result(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Newest results of")).locator("tbody tr").first


def top(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.parametrize(("width", "height"), [pytest.param(1440, 900, marks=pytest.mark.long), (1280, 800)])
def test_results_stand_beside_the_text_in_the_first_screen(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    open_query(page, "delay_grows")
    expect(first_result(page)).to_be_visible(timeout=SLOW_MS)
    box = page.locator(".cm-content").bounding_box()
    assert box is not None
    assert box["y"] > 0
    assert top(first_result(page)) + 60 < height
    page.get_by_role("button", name="Preview").click()
    rows = page.get_by_role("region", name="Preview of the results").locator("tbody tr")
    expect(rows.first).to_be_visible(timeout=SLOW_MS)
    assert top(rows.first) < height


def test_results_come_before_the_catalog_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_query(page, "delay_grows")
    expect(first_result(page)).to_be_visible(timeout=SLOW_MS)
    assert top(first_result(page)) < top(page.get_by_role("heading", name="Streams & columns"))


def test_a_deployed_query_says_what_it_costs_and_until_when_it_is_verified(page: Page) -> None:
    open_query(page, "delay_grows")
    numbers = page.locator("dl[aria-label='What the query does now']")
    for name, value in (
        ("cost", r"\d [mµn]?cores"),
        ("p99", r"\d m?s"),
        ("last batch", "ago|just now"),
        ("answered until", r"2013-\d\d-\d\d"),
        ("complete since", r"its first batch|2013-\d\d-\d\d"),
        ("verified until", r"2013-\d\d-\d\d"),
    ):
        fact = numbers.locator("div").filter(has=page.locator("dt", has_text=name))
        expect(fact.locator("dd")).to_have_text(re.compile(value), timeout=SLOW_MS)
    # What runs already is not offered as the thing to do; a changed text is.
    deploy = page.get_by_role("button", name="Deploy", exact=True)
    expect(deploy).to_be_disabled()
    expect(deploy).not_to_have_class(re.compile("primary"))
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.insert_text("\n-- changed")
    expect(deploy).to_be_enabled()
    expect(deploy).to_have_class(re.compile("primary"))


def test_undeploying_and_deleting_stand_where_one_looks(page: Page) -> None:
    open_query(page, "delay_grows")
    page.get_by_role("button", name="Undeploy…").click()
    dialog = page.get_by_role("dialog", name="Undeploy delay_grows?")
    expect(dialog).to_contain_text("flights stops answering it")
    dialog.get_by_role("button", name="Leave it").click()
    expect(page.get_by_role("button", name="Delete…")).to_have_count(0)

    csrf = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    text = "SELECT d.flight FROM departures AS d WHERE d.delay > 500"
    made = page.request.post(
        "/api/queries/",
        data={"name": "to-be-deleted", "sql": text},
        headers={"X-CSRFToken": csrf, "Referer": page.url},
    )
    assert made.status == 201, made.text()
    page.goto(f"/queries/{made.json()['id']}/")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url("**/queries/")


def test_results_are_drawn_and_the_chart_is_kept_with_the_query(page: Page) -> None:
    open_query(page, "delayed_in_strong_wind")
    chart = page.get_by_role("region", name="Chart of the results")
    picture = chart.get_by_role("img", name=re.compile(r"^delay by at, of the newest \d+ results$"))
    expect(picture).to_be_visible(timeout=SLOW_MS)
    assert picture.locator("circle").count() > 0
    chart.get_by_label("Drawn").select_option(label="number of results")
    chart.get_by_label("Told apart by").select_option(label="coloured by flight")
    bars = chart.get_by_role("img", name=re.compile("^Number of results by at, by flight, of"))
    expect(bars.locator("rect").first).to_be_visible()
    # More flights than colours: the rarer ones are one colour, which the legend names.
    expect(chart.locator("figure")).to_contain_text("others")
    chart.get_by_role("button", name="Keep with the query").click()
    expect(chart.get_by_role("button", name="Kept with the query")).to_be_disabled()
    page.reload()
    expect(bars).to_be_visible(timeout=SLOW_MS)
    csrf = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    address = page.url.replace("/queries/", "/api/queries/") + "chart/"
    gone = page.request.delete(address, headers={"X-CSRFToken": csrf, "Referer": page.url})
    assert gone.status == 204
