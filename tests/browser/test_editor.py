"""What people do with a query before anybody else sees it: complete, mend, try, share, take back."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_operating import wait_for_results
from tests.browser.test_story import SLOW_MS, write

PARAMETRIC = """SELECT d.flight, w.wind_speed
FROM departures [RANGE :past MINUTES] AS d, weather [RANGE 50 MINUTES] AS w
WHERE d.origin = w.airport AND d.delay > 30 AND w.wind_speed > 20"""


@pytest.fixture(autouse=True)
def _new_query(page: Page) -> None:
    page.goto("/queries/new/")
    expect(page.locator(".cm-content")).to_be_visible()
    # Completion knows what the pane beside it shows.
    expect(page.locator(".pane.schema")).to_contain_text("departures", timeout=SLOW_MS)


def text_of(page: Page) -> str:
    return page.locator(".cm-content").inner_text()


def test_completion_knows_streams_columns_and_functions(page: Page) -> None:
    write(page, "SELECT d.flight FROM departures [RANGE 1 HOUR] AS d WHERE d.")
    offers = page.get_by_role("listbox")
    page.keyboard.type("de")
    expect(offers.get_by_role("option").filter(has_text="delay")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.type("lay > 30")
    # Nothing is called like a number: Enter begins a line.
    expect(offers).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.type("AND up")
    page.keyboard.press("ControlOrMeta+Space")
    expect(offers.get_by_role("option").filter(has_text="upper").first).to_be_visible()
    page.keyboard.press("Escape")
    write(page, "SELECT w.at FROM wea")
    page.keyboard.press("ControlOrMeta+Space")
    expect(offers.get_by_role("option").filter(has_text="weather").first).to_be_visible()


def test_a_mistake_is_underlined_and_mended_by_one_key(page: Page) -> None:
    write(page, "select w.at from wether [range 1 hour] as w where w.wind_speed > 20")
    expect(page.locator(".cm-lintRange-error")).to_have_text("wether")
    page.keyboard.press("ControlOrMeta+.")
    expect(page.get_by_text("✓ valid")).to_be_visible()
    page.keyboard.press("Shift+Alt+f")
    expect(page.locator(".cm-line").nth(0)).to_have_text("SELECT")
    page.keyboard.press("ControlOrMeta+z")
    expect(page.locator(".cm-line").nth(0)).to_contain_text("select w.at from weather")


def test_parameters_are_fields_and_the_plan_follows_them(page: Page) -> None:
    write(page, PARAMETRIC)
    expect(page.get_by_label("Problems")).to_contain_text(":past")
    page.get_by_role("button", name="Declare :past").click()
    page.get_by_label(":past", exact=True).fill("50")
    expect(page.locator(".cm-line").nth(0)).to_have_text("-- :past = 50")
    advice = page.get_by_label("State and advice")
    plan = page.get_by_label("Live plan")
    expect(plan).to_contain_text("reuses 2 of 2 steps of delayed_in_strong_wind", timeout=SLOW_MS)
    # 50 of the 60 minutes that are kept anyway: longer is free.
    expect(advice).to_contain_text(re.compile("Widen d from 50 min to 1 h.*it costs nothing more"))
    page.get_by_label(":past", exact=True).fill("90")
    expect(advice).to_contain_text("Narrow", timeout=SLOW_MS)


def test_a_preview_shows_results_before_anything_is_deployed(page: Page) -> None:
    wait_for_results(page)
    page.goto("/queries/new/")
    write(
        page, PARAMETRIC.replace(":past", "50").replace("d.delay > 30 AND w.wind_speed > 20", "d.delay > 0")
    )
    expect(page.get_by_text("✓ valid")).to_be_visible()
    page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("region", name="Preview", exact=True)
    rows = page.get_by_role("region", name="Preview of the results").locator("tbody tr")
    expect(rows.first).to_be_visible(timeout=SLOW_MS)
    expect(preview).to_contain_text(re.compile(r"departures: (all|the newest) [\d.]+"))
    expect(preview).to_contain_text(re.compile(r"weather: (all|the newest) [\d.]+"))
    write(page, "SELECT x.at FROM departures AS x WHERE x.delay > 1e9")
    expect(preview).to_contain_text("for the text before the last change")
    expect(page.get_by_text("✓ valid")).to_be_visible()
    page.get_by_role("button", name="Preview").click()
    expect(preview).to_contain_text("These tuples give no results", timeout=SLOW_MS)
    page.get_by_role("button", name="Close").click()
    expect(preview).to_have_count(0)


def test_undo_reaches_behind_a_reload_and_the_history_behind_everything(page: Page) -> None:
    page.locator(".cm-content").click()
    page.keyboard.insert_text("SELECT w.at FROM weather AS w WHERE w.wind_speed > 20")
    expect(page.get_by_text("✓ valid")).to_be_visible()
    page.get_by_role("button", name="Preview").click()
    write(page, "SELECT w.at FROM weather AS w WHERE w.humidity > 90")
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("humidity")
    page.locator(".cm-content").press("ControlOrMeta+z")
    expect(page.locator(".cm-content")).to_contain_text("wind_speed > 20")
    page.locator(".cm-content").press("ControlOrMeta+y")
    expect(page.locator(".cm-content")).to_contain_text("humidity")
    page.get_by_role("button", name="History").click()
    earlier = page.get_by_role("region", name="History").get_by_role("row").filter(has_text="wind_speed > 20")
    expect(earlier).to_contain_text("previewed")
    earlier.get_by_role("button", name="Use this").click()
    expect(page.locator(".cm-content")).to_contain_text("wind_speed > 20")


def test_a_link_carries_the_text_to_somebody_else(page: Page) -> None:
    write(page, PARAMETRIC)
    page.get_by_label("About").fill("Böen über 20")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link").input_value()
    written = text_of(page)
    write(page, "SELECT w.at FROM weather AS w WHERE w.humidity > 90")
    page.goto("/streams/")
    page.goto(link)
    expect(page.locator(".cm-content")).to_contain_text(":past")
    assert text_of(page) == written
    expect(page.get_by_label("About")).to_have_value("Böen über 20")
    assert "#" not in page.url
    # What it took the place of is not lost.
    page.get_by_role("button", name="History").click()
    expect(page.get_by_role("region", name="History")).to_contain_text("humidity")


def test_a_version_shows_what_it_changed_in_the_plan(page: Page) -> None:
    csrf = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    sent = {"X-CSRFToken": csrf, "Referer": page.url}
    pair = PARAMETRIC.replace(":past", "50")
    three = pair.replace("\nWHERE", ", arrivals [RANGE 1 HOUR] AS a\nWHERE a.tail = d.tail AND")
    made = page.request.post(
        "/api/queries/", data={"name": f"versions-{os.getpid()}", "sql": pair}, headers=sent
    )
    assert made.status == 201, made.text()
    number = made.json()["id"]
    added = page.request.post(f"/api/queries/{number}/versions/", data={"sql": three}, headers=sent)
    assert added.status == 201, added.text()
    page.goto(f"/queries/{number}/")
    page.get_by_role("tab", name="Versions").click()
    page.get_by_role("button", name="Changes from v1", exact=True).click()
    change = page.get_by_role("region", name="Change of the plan")
    expect(change).to_contain_text(re.compile(r"\+ store arrivals"), timeout=SLOW_MS)
    expect(change).to_contain_text("Plan: probe")
    # The page asks for its query every few seconds, and would complain that it is gone.
    page.goto("/queries/")
    assert page.request.delete(f"/api/queries/{number}/", headers=sent).status == 204


def test_a_stream_shows_how_fast_and_how_late_it_comes(page: Page) -> None:
    wait_for_results(page)
    page.goto("/streams/departures/")
    arrivals = page.get_by_role("region", name="Arrivals in flights")
    expect(arrivals.get_by_role("img", name=re.compile("^Tuples per second"))).to_be_visible(timeout=SLOW_MS)
    expect(arrivals.get_by_role("img", name=re.compile("^Event time"))).to_be_visible()
    expect(arrivals.locator(".series-plot path[stroke-dasharray]").first).to_have_attribute(
        "d", re.compile("^M")
    )
