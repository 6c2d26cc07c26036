"""Every page for everybody: no serious finding of axe, light and dark, wide and narrow."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from optimizer.workload import read_streams
from tests.browser.conftest import barriers
from tests.screenshots import OPENED, PAGES, SLOW_MS, WIDTHS
from tests.unit.conversion.test_golden import INPUTS, TPCH


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", list(PAGES))
def test_axe_finds_nothing_serious(page: Page, axe: str, name: str, theme: str) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    query = page.request.get("/api/queries/").json()[0]["id"]
    for width, height in WIDTHS.items():
        if theme == "dark" and width < 1000:
            # Colours are the theme's, the arrangement is the width's: each is looked at once.
            continue
        page.set_viewport_size({"width": width, "height": height})
        page.goto(PAGES[name].format(query=query))
        # A page may have none: the server writes that of an account's factors.
        expect(page.locator("[data-island]:empty")).to_have_count(0)
        expect(page.get_by_text("Loading")).to_have_count(0, timeout=SLOW_MS)
        if name in OPENED:
            OPENED[name](page)
        assert barriers(page, axe) == [], width


def test_a_stream_is_registered_and_edited(page: Page) -> None:
    page.goto("/streams/")
    page.get_by_role("button", name="Register a stream").click()
    form = page.get_by_role("form", name="Register a stream")
    form.get_by_role("button", name="Register").click()
    expect(form.get_by_role("alert")).to_have_text("Give the stream a name.")
    form.get_by_label("Name", exact=True).fill("gates")
    form.get_by_role("button", name="Add a column").click()
    form.get_by_label("Name of column 2").fill("gate")
    form.get_by_label("Tuples come from").select_option(label="a Kafka topic")
    expect(form.get_by_text("MILLRACE_KAFKA_SERVERS")).to_be_visible()
    expect(form.get_by_label("Keys go to the column").get_by_role("option")).to_have_text(["none", "gate"])
    expect(form.get_by_label("Avro schema")).to_have_count(0)
    form.get_by_label("Values").select_option(label="Avro")
    expect(form.get_by_label("Avro schema")).to_be_visible()
    form.get_by_label("Tuples come from").select_option(label="producers, who send them here")
    form.get_by_role("button", name="Register").click()
    page.wait_for_url("**/streams/gates/")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Allowed lateness, seconds").fill("90")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 min 30 s")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/streams/")


def test_a_sample_fills_in_the_form_of_a_stream(page: Page) -> None:
    page.goto("/streams/?register")
    form = page.get_by_role("form", name="Register a stream")
    expect(form.get_by_label("Allowed lateness, seconds")).to_have_value("5")
    times = ("10:00:00", "10:01:00", "10:00:30")
    form.get_by_label("Sample tuples").fill(
        "\n".join(f'{{"seen": "2026-01-01T{time}Z", "gate": "A1", "delay": 10.0}}' for time in times)
    )
    for place, (name, kind) in enumerate((("seen", "timestamp"), ("gate", "string"), ("delay", "double")), 1):
        expect(form.get_by_label(f"Name of column {place}")).to_have_value(name)
        expect(form.get_by_label(f"Type of column {place}")).to_have_value(kind)
    expect(form.get_by_role("combobox", name="Event time", exact=True)).to_have_value("seen")
    lateness = form.get_by_label("Allowed lateness, seconds")
    expect(lateness).to_have_value("30")
    expect(form.get_by_role("status")).to_have_text(
        "With a lateness of 30 s none of the 3 sampled tuples is late."
    )
    lateness.fill("5")
    expect(form.get_by_role("status")).to_contain_text(
        "A lateness of 5 s drops 1 of 3 sampled tuples (33.3 %)"
    )
    form.get_by_role("button", name="Use 30 s: none is late").click()
    expect(lateness).to_have_value("30")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "the form is too wide"


def test_a_query_of_nested_joins_is_converted(page: Page, axe: str) -> None:
    page.goto("/convert/")
    page.get_by_label("SQL with joins in any nesting").fill(
        "SELECT t.flight, max(w.wind_speed) FROM (SELECT d.flight, d.origin FROM departures AS d "
        "JOIN arrivals AS a ON d.tail = a.tail) AS t JOIN weather AS w ON t.origin = w.airport "
        "GROUP BY t.flight"
    )
    page.get_by_role("button", name="Convert", exact=True).click()
    after = page.get_by_role("tree", name="After: multi-way joins")
    expect(after.locator(".multi_join")).to_have_count(1)
    expect(page.get_by_role("tree", name="Before: binary joins").locator(".join")).to_have_count(2)
    after.locator(".multi_join .label").hover()
    expect(page.locator(".operator.marked")).to_have_count(3)
    assert barriers(page, axe) == []
    # What was converted goes on as a query, and another text is not taken for the converted one.
    page.get_by_label("SQL with joins in any nesting").press("End")
    page.keyboard.insert_text(" ")
    expect(page.get_by_text("For the text before the last change.")).to_be_visible()
    page.get_by_role("link", name="Open in the editor").click()
    expect(page.locator(".cm-content")).to_contain_text("d.tail = a.tail")


def test_examples_are_converted_at_a_click(page: Page) -> None:
    page.goto("/convert/")
    examples = page.get_by_role("group", name="Examples").get_by_role("button")
    expect(examples).to_have_count(3)
    for number in range(3):
        examples.nth(number).click()
        expect(page.get_by_role("region", name="The whole query").get_by_role("link")).to_be_visible()
        expect(page.get_by_text("For the text before the last change.")).to_have_count(0)
        expect(examples.nth(number)).to_be_enabled()


def test_a_table_that_is_missing_is_registered_from_the_text(page: Page, axe: str) -> None:
    page.goto("/convert/")
    page.get_by_label("SQL with joins in any nesting").fill(
        "SELECT d.flight, g.gate FROM departures AS d JOIN boarding AS g ON g.flight = d.flight"
    )
    page.get_by_role("button", name="Convert", exact=True).click()
    missing = page.get_by_role("region", name="Tables that are not registered")
    expect(missing.get_by_role("listitem")).to_have_text(
        "Register boarding flight string, gate (type to be chosen)"
    )
    assert barriers(page, axe) == []
    missing.get_by_role("link", name="Register boarding").click()
    form = page.get_by_role("form", name="Register a stream")
    expect(form.get_by_label("Name", exact=True)).to_have_value("boarding")
    expect(form.get_by_label("Name of column 3")).to_have_value("gate")
    form.get_by_role("button", name="Register").click()
    expect(form.get_by_role("alert")).to_have_text("Choose the type of gate.")
    form.get_by_label("Type of column 3").select_option("int")
    form.get_by_role("button", name="Register").click()
    page.wait_for_url("**/streams/boarding/")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/streams/")


def test_a_nested_query_deploys_whole(page: Page, axe: str) -> None:
    page.goto("/convert/")
    text = page.get_by_label("SQL with joins in any nesting")
    nested = (
        "SELECT t.flight, max(w.wind_speed) AS gust FROM (SELECT d.flight, d.origin FROM departures AS d "
        "JOIN arrivals AS a ON d.tail = a.tail) AS t JOIN weather AS w ON t.origin = w.airport "
        "GROUP BY t.flight ORDER BY gust"
    )
    page.get_by_label("Window of each stream").fill("30 minutes")
    text.fill(nested.replace("max(w.wind_speed)", "(SELECT max(visibility) FROM weather)"))
    page.get_by_role("button", name="Convert", exact=True).click()
    whole = page.get_by_role("region", name="The whole query")
    lacking = whole.get_by_role("list", name="What the whole query cannot have")
    expect(lacking.get_by_role("listitem").first).to_contain_text("found a subquery")
    expect(page.get_by_role("link", name="Open in the editor")).to_be_visible()
    text.fill(nested)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(whole.get_by_role("list", name="What was chosen")).to_contain_text("one of 30 MINUTES")
    expect(whole.get_by_role("list", name="What is left out")).to_contain_text("found ORDER BY")
    assert barriers(page, axe) == []
    whole.get_by_role("link", name="Open the whole query in the editor").click()
    expect(page.locator(".cm-content")).to_contain_text("weather [RANGE 30 MINUTES] AS w")
    expect(page.get_by_text("✓ valid")).to_be_visible(timeout=SLOW_MS)


@pytest.fixture
def tpch(page: Page) -> Iterator[None]:
    """TPC-H's tables are registered as streams while the test runs."""
    catalog, _ = read_streams((TPCH / "streams.yaml").read_text(), "streams.yaml")
    csrf = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    sent = {"X-CSRFToken": csrf, "Referer": page.url}
    for one in catalog:
        columns = [{"name": column, "type": kind.value} for column, kind in one.columns]
        stream = {"name": one.name, "event_time": one.event_time, "columns": columns}
        made = page.request.post("/api/streams/", data=stream, headers=sent)
        assert made.status == 201, made.text()
    yield
    for one in catalog:
        page.request.delete(f"/api/streams/{one.name}/", headers=sent)


def test_queries_of_tpch_are_shown_before_and_after(page: Page, tpch: None) -> None:
    page.goto("/convert/")
    before = page.get_by_role("tree", name="Before: binary joins")
    after = page.get_by_role("tree", name="After: multi-way joins")
    for name, inputs in INPUTS.items():
        printed = (TPCH / "plans" / f"{name}.txt").read_text()
        plans = re.split(r"\n  (?=\S)", printed)
        page.get_by_label("SQL with joins in any nesting").fill(
            (TPCH / "queries" / f"{name}.sql").read_text()
        )
        page.get_by_role("button", name="Convert", exact=True).click()
        expect(page.get_by_text("For the text before the last change.")).to_have_count(0)
        labels = after.locator(".multi_join .label")
        expect(labels).to_have_count(len(inputs))
        assert sorted(int(text.split()[-2]) for text in labels.all_text_contents()) == inputs, name
        for tree, plan in ((before, plans[1]), (after, plans[2])):
            assert tree.locator(".operator").count() == len(plan.splitlines()) - 1, name


def test_a_query_changes_and_goes_back(page: Page) -> None:
    made = page.request.get("/api/queries/").json()
    query = next(one for one in made if one["name"] == "diverging_wind")
    version = query["version"]
    page.goto(f"/queries/{query['id']}/")
    page.locator(".cm-content").first.click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.insert_text("\n-- changed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Saved as version {version + 1}.")).to_be_visible()
    page.get_by_role("tab", name="Versions").click()
    page.get_by_role("button", name=f"Changes from v{version}", exact=True).click()
    expect(page.locator(".sql-diff .cm-changedLine").first).to_contain_text("-- changed")
    page.get_by_role("button", name=f"Revert to v{version}", exact=True).click()
    expect(page.get_by_text(f"Version {version + 2} has the older text.")).to_be_visible()
    expect(page.locator(".sql-host .cm-content")).not_to_contain_text("-- changed")


def test_the_palette_acts_and_asks(page: Page) -> None:
    page.goto("/queries/")
    expect(page.locator("[data-island]")).not_to_be_empty()
    page.keyboard.press("ControlOrMeta+k")
    palette = page.get_by_role("dialog", name="Find anything")
    palette.get_by_role("combobox").fill("dark th")
    expect(palette.get_by_role("option").first).to_have_text("action Dark theme")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Dark theme")).to_be_visible()
    page.keyboard.press("ControlOrMeta+k")
    palette.get_by_role("combobox").fill("stop flights")
    expect(palette.get_by_role("option").first).to_have_text("action Stop flights…", timeout=SLOW_MS)
    page.keyboard.press("Enter")
    asked = page.get_by_role("dialog", name="Stop flights?")
    expect(asked).to_be_visible(timeout=SLOW_MS)
    page.keyboard.press("Escape")
    expect(asked).to_be_hidden()
    # Nobody is asked again who reloads the page.
    page.reload()
    expect(page.get_by_role("button", name="Stop…")).to_be_visible(timeout=SLOW_MS)
    expect(asked).to_be_hidden()
