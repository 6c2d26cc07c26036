"""No tap is lost while a page is redrawn; nothing that somebody chose is overwritten by what comes later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.bench.pages.site import NAME, Site, site, small_graph
from tests.browser.conftest import PATIENCE_MS
from tests.browser.tapping import CONTROLS, LOST, NOTE, Updates, tap, under_fire

PERIOD_MS = 6000
"""Pages that ask again do so more often."""
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


@pytest.fixture(scope="module")
def fire(browser: Browser, small: Site) -> Iterator[tuple[Page, Updates]]:
    """One page for all, because loading it is what takes long."""
    context = browser.new_context(base_url=small.url, viewport={"width": 1280, "height": 900})
    context.add_cookies(
        [{"name": name, "value": value, "url": small.url} for name, value in small.cookies.items()]
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    with under_fire(page, small) as updates:
        yield page, updates
    context.close()


def opened(page: Page, view: str = "view=trees") -> None:
    page.goto(f"/topologies/{NAME}/?{view}")
    expect(page.locator("svg .node").first).to_be_visible()


def button(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("button", name=name, exact=True)


def tab(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("tab", name=name, exact=True)


def has(attribute: str, value: str) -> Effect:
    return lambda _, target: expect(target).to_have_attribute(attribute, value)


def dialog(name: str) -> Effect:
    def opened(page: Page, _: Locator) -> None:
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name=name)).to_have_count(0)

    return opened


def folded(page: Page, _: Locator) -> None:
    sources = page.locator("svg.forest .node.source").count()
    expect(page.locator("svg.forest .node")).to_have_count(sources)


def unfolded(page: Page, _: Locator) -> None:
    expect(page.locator("svg.forest .node.query").first).to_be_visible()


def header(page: Page) -> Locator:
    return page.get_by_role("region", name="Stores").get_by_role("columnheader", name="Store")


def sorted_(page: Page, _: Locator) -> None:
    expect(header(page)).to_have_attribute("aria-sort", "ascending")


def source(page: Page) -> Locator:
    return page.locator("svg.forest .node.source").nth(2)


def first_tree(state: str) -> Effect:
    return lambda page, _: expect(page.locator("svg.forest .node.source").first).to_have_attribute(
        "aria-expanded", state
    )


def fold_of_first(page: Page) -> Locator:
    return page.locator("svg.forest .node.source .fold").first


TAPS: tuple[tuple[Callable[[Page], Locator], Effect], ...] = (
    *((tab(name), has("aria-selected", "true")) for name in TABS),
    (lambda page: header(page).get_by_role("button"), sorted_),
    (button("Fold"), folded),
    (button("Unfold"), unfolded),
    (fold_of_first, first_tree("false")),
    (fold_of_first, first_tree("true")),
    (button("query3"), has("aria-pressed", "true")),
    (button("query3"), has("aria-pressed", "false")),
    (source, lambda _, target: expect(target).to_have_class(re.compile("selected"))),
    (source, lambda _, target: expect(target).not_to_have_class(re.compile("selected"))),
    (button("Restart…"), dialog(f"Restart {NAME}?")),
    (button("Stop…"), dialog(f"Stop {NAME}?")),
    (button("Physical graph"), has("aria-pressed", "true")),
    (button("Together and alone"), has("aria-pressed", "true")),
    (button("Probe trees"), has("aria-pressed", "true")),
)


@pytest.mark.long
def test_no_tap_is_lost(fire: tuple[Page, Updates]) -> None:
    """What is lost is lost at some moments only: a second round finds more."""
    page, _ = fire
    opened(page)
    for _ in range(2):
        for find, effect in TAPS:
            target = find(page)
            expect(target).to_be_visible()
            tap(page, target)
            effect(page, target)
        # Sorted the other way, and then not at all.
        for _ in range(2):
            header(page).get_by_role("button").click()


@pytest.mark.parametrize(
    "find",
    [
        pytest.param(button("query3"), id="button", marks=pytest.mark.long),
        pytest.param(tab("Results"), id="tab"),
    ],
)
def test_no_tap_is_lost_as_soon_as_its_target_is_there(
    fire: tuple[Page, Updates], find: Callable[[Page], Locator]
) -> None:
    """What comes later has its room kept, or stands below."""
    page, _ = fire
    for _ in range(3):
        page.goto(f"/topologies/{NAME}/?view=trees")
        target = find(page)
        expect(target).to_be_visible()
        tap(page, target)
        attribute = "aria-selected" if target.get_attribute("role") == "tab" else "aria-pressed"
        expect(target).to_have_attribute(attribute, "true")


def test_a_choice_outlives_another_plan(fire: tuple[Page, Updates]) -> None:
    """What is folded, sorted, searched, zoomed and in the address stays when the plan is exchanged."""
    page, updates = fire
    opened(page, "view=trees&query=query2&shade=cost&tab=Stores")
    nodes = page.locator("svg.forest .node")
    header(page).get_by_role("button").click()
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
    expect(header(page)).to_have_attribute("aria-sort", "ascending")
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


@pytest.mark.long
def test_the_physical_graph_stays_while_another_plan_is_laid_out(fire: tuple[Page, Updates]) -> None:
    page, updates = fire
    opened(page, "view=graph")
    boxes = page.locator("svg.physical .node")
    drawing = page.locator("svg.physical").element_handle()
    before = boxes.count()
    updates.switch(2)
    expect(boxes).not_to_have_count(before)
    assert drawing is not None
    assert drawing.evaluate("(svg) => svg.isConnected"), "it was taken away, with how somebody zoomed it"
    updates.switch(1)
    expect(boxes).to_have_count(before)


def note_all(page: Page) -> None:
    """Remembers every control, with everything opened that can be."""
    expect(page.locator("[data-island]")).not_to_be_empty()
    closed = page.locator("main details:not([open]) > summary")
    while closed.count():
        closed.first.click()


def lost(page: Page) -> list[str]:
    """The controls that are no longer there. Batches and switches of long ago leave their plots; nothing else
    may go."""
    past = ('class="batch"', "<title>Plan switch at")
    return [one for one in page.evaluate(LOST) if not any(mark in one for mark in past)]


@pytest.mark.long
def test_every_control_of_a_topology_keeps_its_element(fire: tuple[Page, Updates]) -> None:
    page, updates = fire
    opened(page)
    shown = page.locator("dl.numbers dd").last.element_handle()

    def some_batches() -> None:
        page.wait_for_function(
            "([one, batch]) => Number(one.textContent) > batch", arg=[shown, updates.batch + 10]
        )

    for part in (*(tab(name) for name in TABS), button("Physical graph"), button("Together and alone")):
        part(page).click()
        note_all(page)
        # First until everything is there.
        some_batches()
        assert page.evaluate(NOTE) > 0
        some_batches()
        assert lost(page) == []


def test_every_control_of_the_other_pages_keeps_its_element(fire: tuple[Page, Updates]) -> None:
    first, _ = fire
    addresses = [
        *("/", "/topologies/", "/jobs/", "/streams/", "/queries/"),
        *("/alerts/", "/tokens/", "/convert/", "/queries/new/"),
    ]
    for some in (addresses[:4], addresses[4:]):
        pages = [first, *(first.context.new_page() for _ in some[1:])]
        for page, address in zip(pages, some, strict=True):
            page.goto(address)
            note_all(page)
        first.wait_for_timeout(PERIOD_MS)
        for page, address in zip(pages, some, strict=True):
            # On a busy machine the first answer may take longer than that.
            expect(page.locator("main").first.locator(CONTROLS), address).not_to_have_count(0)
            assert page.evaluate(NOTE) > 0, address
        first.wait_for_timeout(PERIOD_MS)
        for page, address in zip(pages, some, strict=True):
            assert lost(page) == [], address
        for page in pages[1:]:
            page.close()


def test_a_page_shows_answers_that_come_slower_than_it_asks(fire: tuple[Page, Updates]) -> None:
    page, _ = fire
    asked = 0

    def slowly(route: Route) -> None:
        nonlocal asked
        asked += 1
        page.wait_for_timeout(PERIOD_MS)
        route.continue_()

    page.route("**/api/overview/", slowly)
    page.goto("/")
    expect(page.get_by_role("link", name=NAME, exact=True).first).to_be_visible()
    assert asked < 3, "the next question did not wait for the answer"
    page.unroute_all(behavior="ignoreErrors")
