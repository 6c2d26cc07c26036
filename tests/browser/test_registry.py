"""A stream's form is filled in from the schema registry, over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import RunningProduct, barriers, signed_in
from tests.registry.stand_in import StandIn

ASKED = "/api/schema-registry/columns/"
SENSOR = {
    "type": "record",
    "name": "sensor",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "value", "type": ["null", "double"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}


@pytest.fixture
def page(browser: Browser, product: RunningProduct) -> Iterator[Page]:
    """Signed in; the registry's refusals are looked at here."""
    if product.process is None:
        pytest.skip("the product at MILLRACE_URL has another registry")
    password = os.environ.get("MILLRACE_DEMO_PASSWORD", "millrace")
    with signed_in(browser, product.url, "demo", password, refusing=ASKED) as opened:
        yield opened


@pytest.fixture
def form(page: Page) -> Locator:
    """That of a new stream over the Avro topic *sensors*, whose values name their schemas."""
    page.goto("/streams/")
    page.get_by_role("button", name="Register a stream").click()
    found = page.get_by_role("form", name="Register a stream")
    found.get_by_label("Tuples come from").select_option(label="a Kafka topic")
    expect(found.get_by_role("button", name="Columns from the registry")).to_have_count(0)
    found.get_by_role("combobox", name="Values", exact=True).select_option(label="Avro")
    found.get_by_role("combobox", name="Their schemas").select_option(label="in the schema registry")
    expect(found.get_by_role("button", name="Columns from the registry")).to_be_disabled()
    found.get_by_role("textbox", name="Topic", exact=True).fill("sensors")
    return found


def ask(form: Locator) -> None:
    form.get_by_role("button", name="Columns from the registry").click()


def columns_of(form: Locator) -> list[tuple[str, str]]:
    names = form.get_by_label("Name of column")
    types = form.get_by_label("Type of column")
    return [
        (name.input_value(), kind.input_value()) for name, kind in zip(names.all(), types.all(), strict=True)
    ]


def test_columns_of_the_newest_schema_fill_the_form_in(
    page: Page, form: Locator, registry: StandIn, axe: str
) -> None:
    number = registry.register("sensors-value", SENSOR)
    assert columns_of(form) != [("at", "timestamp"), ("value", "double")]
    ask(form)
    told = f"The columns above are those of schema {number} of sensors-value."
    left_out = "Left out, for they are of no column type: tags (array)."
    expect(form.get_by_role("status").filter(has_text="schema")).to_have_text(f"{told} {left_out}")
    assert columns_of(form) == [("at", "timestamp"), ("value", "double")]
    expect(form.get_by_role("combobox", name="Event time", exact=True)).to_have_value("at")
    expect(form.get_by_role("alert")).to_have_count(0)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        assert barriers(page, axe) == [], theme
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "the form is too wide"


def test_a_subject_that_is_unknown_is_named(page: Page, form: Locator, registry: StandIn, axe: str) -> None:
    registry.register("sensors-value", SENSOR)
    before = columns_of(form)
    form.get_by_label("Subject in the registry").fill("senors-value")
    ask(form)
    expect(form.get_by_role("alert")).to_have_text(
        "the schema registry has nothing of senors-value: Subject 'senors-value' not found."
    )
    assert columns_of(form) == before
    assert barriers(page, axe) == []
    # Who mends it reads of it no longer.
    form.get_by_label("Subject in the registry").fill("sensors-value")
    ask(form)
    expect(form.get_by_role("status").filter(has_text="of sensors-value")).to_be_visible()
    expect(form.get_by_role("alert")).to_have_count(0)


def test_a_registry_that_is_away_is_one_line(page: Page, form: Locator, registry: StandIn, axe: str) -> None:
    before = columns_of(form)
    registry.stop()
    try:
        ask(form)
        expect(form.get_by_role("alert")).to_have_count(1)
        expect(form.get_by_role("alert")).to_contain_text("the schema registry does not answer")
        assert "\n" not in form.get_by_role("alert").inner_text()
        assert columns_of(form) == before
        assert barriers(page, axe) == []
    finally:
        registry.start()
    ask(form)
    expect(form.get_by_role("button", name="Columns from the registry")).to_be_enabled()


def test_a_registry_that_never_answers_is_given_up(
    page: Page, form: Locator, registry: StandIn, axe: str
) -> None:
    registry.endless = True
    try:
        ask(form)
        expect(form.get_by_role("button", name="Columns from the registry")).to_be_disabled()
        # Meanwhile the site answers as ever, also what is worked out by processes.
        assert page.request.get("/api/streams/").ok
        token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
        headers = {"X-CSRFToken": token, "Referer": page.url}
        checked = page.request.post(
            "/api/sql/validate/", data={"sql": "SELECT d.flight FROM departures AS d"}, headers=headers
        )
        assert checked.ok, checked.text()
        assert checked.json()["ok"], checked.text()
        expect(form.get_by_role("button", name="Columns from the registry")).to_be_disabled()
        expect(form.get_by_role("alert")).to_have_text("the schema registry does not answer within 10 s")
    finally:
        registry.endless = False
    assert barriers(page, axe) == []
