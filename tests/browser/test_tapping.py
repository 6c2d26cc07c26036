"""No tap is lost while a page is redrawn; nothing that somebody chose is overwritten by what comes later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.bench.pages.site import NAME, Site, site, small_graph
from tests.browser.conftest import PATIENCE_MS
from tests.browser.tapping import LOST, NOTE, Updates, tap, under_fire

Effect = Callable[[Page, Locator], None]
TABS = (
    "Steps",
    "Streams",
    "Queries",
    "Results",
    "Batches",
    "Epochs",
    "Receipt",
    "Forecasts",
    "Plan",
    "Log",
    "Stores",
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home: Path = tmp_path_factory.mktemp("small")
    with site(home, small_graph(6), small_graph(5)) as made:
        yield made


@pytest.fixture
def fire(browser: Browser, small: Site) -> Iterator[tuple[Page, Updates]]:
    context = browser.new_context(base_url=small.url, viewport={"width": 1280, "height": 900})
    context.add_cookies(
        [{"name": name, "value": value, "url": small.url} for name, value in small.cookies.items()]
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"/topologies/{NAME}/")
    expect(page.locator("svg.forest .node").first).to_be_visible()
    shown = page.locator("dl.numbers dd").last
    with under_fire(page, small, int(shown.inner_text())) as updates:
        before = shown.inner_text()
        expect(shown).not_to_have_text(before)
        yield page, updates
    small.switch(1, updates.batch + 1)
    context.close()


def button(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("button", name=name, exact=True)


def tab(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("tab", name=name, exact=True)


def has(attribute: str, value: str) -> Effect:
    return lambda _, target: expect(target).to_have_attribute(attribute, value)


def shows(text: str) -> Effect:
    return lambda page, _: expect(page.get_by_text(text)).to_be_visible()


def dialog(name: str) -> Effect:
    def opened(page: Page, _: Locator) -> None:
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name=name)).to_have_count(0)

    return opened


def folded(page: Page, _: Locator) -> None:
    sources = page.locator("svg.forest .node.source").count()
    expect(page.locator("svg.forest .node")).to_have_count(sources)


def zoomed(page: Page, _: Locator) -> None:
    expect(page.locator("svg.minimap")).to_be_visible()


TAPS: dict[str, tuple[Callable[[Page], Locator], Effect]] = {
    **{f"tab {name}": (tab(name), has("aria-selected", "true")) for name in TABS},
    "fold": (button("Fold"), folded),
    "a query's paths": (button("query3"), has("aria-pressed", "true")),
    "physical graph": (button("Physical graph"), has("aria-pressed", "true")),
    "together and alone": (button("Together and alone"), has("aria-pressed", "true")),
    "restart": (button("Restart…"), dialog(f"Restart {NAME}?")),
    "stop": (button("Stop…"), dialog(f"Stop {NAME}?")),
    "sort": (
        lambda page: (
            page.get_by_role("region", name="Stores")
            .get_by_role("columnheader", name="Store")
            .get_by_role("button")
        ),
        lambda page, _: expect(
            page.get_by_role("region", name="Stores").get_by_role("columnheader", name="Store")
        ).to_have_attribute("aria-sort", "ascending"),
    ),
    "a step": (
        lambda page: page.locator("svg.forest .node.source").nth(2),
        lambda _, target: expect(target).to_have_class(re.compile("selected")),
    ),
    "a tree's fold": (
        lambda page: page.locator("svg.forest .node.source .fold").first,
        lambda page, _: expect(page.locator("svg.forest .node.source").first).to_have_attribute(
            "aria-expanded", "false"
        ),
    ),
}


@pytest.mark.parametrize("what", TAPS)
def test_a_tap_is_not_lost(fire: tuple[Page, Updates], what: str) -> None:
    page, _ = fire
    find, effect = TAPS[what]
    # More than once: what is lost is lost at some moments only.
    for _ in range(3):
        if what != "tab Stores":
            page.goto(f"/topologies/{NAME}/")
        else:
            page.goto(f"/topologies/{NAME}/?tab=Plan")
        target = find(page)
        expect(target).to_be_visible()
        expect(target).to_be_enabled()
        tap(page, target)
        effect(page, target)


def test_a_choice_outlives_another_plan(fire: tuple[Page, Updates]) -> None:
    """What is folded, sorted, searched, zoomed and in the address stays when the plan is exchanged."""
    page, updates = fire
    page.goto(f"/topologies/{NAME}/?query=query2&shade=cost&tab=Stores")
    nodes = page.locator("svg.forest .node")
    expect(nodes.first).to_be_visible()
    header = page.get_by_role("region", name="Stores").get_by_role("columnheader", name="Store")
    header.get_by_role("button").click()
    page.get_by_role("button", name="Fold", exact=True).click()
    folded(page, nodes)
    page.get_by_label("Find a step").fill("s1")
    address = page.url
    drawing = page.locator("svg.forest").element_handle()
    updates.switch(2)
    expect(page.get_by_role("group", name="Show only one query's paths").get_by_role("button")).to_have_count(
        5
    )
    folded(page, nodes)
    expect(page.get_by_role("button", name="Unfold", exact=True)).to_be_visible()
    expect(header).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_label("Find a step")).to_have_value("s1")
    assert page.url == address
    assert drawing is not None
    assert drawing.evaluate("(svg) => svg.isConnected")
    # One tree that was opened by hand stays open, too.
    page.get_by_label("Find a step").fill("")
    root = page.locator("svg.forest .node.source").first
    root.focus()
    page.keyboard.press("ArrowRight")
    expect(root).to_have_attribute("aria-expanded", "true")
    updates.switch(1)
    expect(page.get_by_role("group", name="Show only one query's paths").get_by_role("button")).to_have_count(
        6
    )
    expect(root).to_have_attribute("aria-expanded", "true")
    expect(page.locator("svg.forest .node.source").nth(1)).to_have_attribute("aria-expanded", "false")


def test_the_physical_graph_stays_while_another_plan_is_laid_out(fire: tuple[Page, Updates]) -> None:
    page, updates = fire
    page.goto(f"/topologies/{NAME}/?view=graph")
    boxes = page.locator("svg.physical .node")
    expect(boxes.first).to_be_visible()
    drawing = page.locator("svg.physical").element_handle()
    before = boxes.count()
    updates.switch(2)
    expect(boxes).not_to_have_count(before)
    assert drawing is not None
    assert drawing.evaluate("(svg) => svg.isConnected"), "it was taken away, with how somebody zoomed it"


ADDRESSES = [
    *(f"/topologies/{NAME}/?tab={name}" for name in TABS),
    *(f"/topologies/{NAME}/?view={name}" for name in ("graph", "beside")),
    *(
        "/topologies/",
        "/jobs/",
        "/streams/",
        "/queries/",
        "/alerts/",
        "/tokens/",
        "/convert/",
        "/queries/new/",
    ),
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_control_keeps_its_element(fire: tuple[Page, Updates], address: str) -> None:
    page, updates = fire
    page.goto(address)
    expect(page.locator("[data-island]")).not_to_be_empty()
    for closed in page.locator("main details:not([open]) > summary").all():
        closed.click()
    page.wait_for_load_state("networkidle") if "topologies/large" not in address else None
    assert page.evaluate(NOTE) > 0
    updates_seen = updates.batch + 100
    # Longer than every page's period of asking again, and many batches.
    page.wait_for_function("() => new Promise((done) => setTimeout(() => done(true), 6000))")
    assert updates.batch > updates_seen - 100
    # A bar of the strip goes when its batch is too long ago; nothing else may.
    lost = [one for one in page.evaluate(LOST) if 'class="batch"' not in one]
    assert lost == []
