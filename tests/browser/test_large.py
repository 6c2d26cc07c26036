"""A topology of 300 stores, 1,100 edges and 200 queries in a real browser: how much is drawn, and what one
batch changes. Counts, not times: those are `make bench ONLY=pages`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bench.pages.site import NAME, Site, site
from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_story import SLOW_MS

pytestmark = pytest.mark.long

WATCH = """() => {
  window.seen = { added: 0, removed: 0 };
  new MutationObserver((records) => {
    for (const record of records) {
      window.seen.added += [...record.addedNodes].filter((node) => node.nodeType === 1).length;
      window.seen.removed += [...record.removedNodes].filter((node) => node.nodeType === 1).length;
    }
  }).observe(document.body, { subtree: true, childList: true });
}"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home: Path = tmp_path_factory.mktemp("large")
    with site(home) as made:
        yield made


@pytest.fixture
def large_page(browser: Browser, large: Site) -> Iterator[Page]:
    context = browser.new_context(
        base_url=large.url, viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
    )
    context.add_cookies(
        [{"name": name, "value": value, "url": large.url} for name, value in large.cookies.items()]
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"/topologies/{NAME}/?view=trees")
    expect(page.locator("svg.forest .node").first).to_be_visible(timeout=SLOW_MS)
    yield page
    context.close()


def test_trees_are_one_row_each_and_tables_are_drawn_as_far_as_read(large_page: Page) -> None:
    expect(large_page.locator("svg.forest .node")).to_have_count(300)
    stores = large_page.get_by_role("region", name="Stores").locator("tbody tr")
    expect(stores).to_have_count(50)
    assert large_page.locator("*").count() < 8000
    large_page.get_by_role("button", name="Show 50 more of 300").click()
    expect(stores).to_have_count(100)
    large_page.get_by_label("Filter stores").fill("s29")
    expect(stores).to_have_count(10)
    large_page.get_by_role("tab", name="Steps").click()
    expect(large_page.get_by_role("region", name="Steps").locator("tbody tr")).to_have_count(50)


def test_a_batch_adds_and_removes_nothing_and_is_laid_out_once(large_page: Page, large: Site) -> None:
    batch = large_page.locator("dl.numbers dd").last
    for number in range(1, 4):
        large.tell(number)
        expect(batch).to_have_text(str(number), timeout=SLOW_MS)
    measuring = large_page.context.new_cdp_session(large_page)
    measuring.send("Performance.enable")

    def layouts() -> float:
        metrics = measuring.send("Performance.getMetrics")["metrics"]
        return next(float(one["value"]) for one in metrics if one["name"] == "LayoutCount")

    large_page.evaluate(WATCH)
    updates = 6
    # A check of Playwright's may itself ask for a layout: the page is looked at once, at the end.
    before = layouts()
    for number in range(10, 10 + updates):
        large.tell(number)
        large_page.wait_for_timeout(500)
    laid_out = layouts() - before
    expect(batch).to_have_text(str(9 + updates), timeout=SLOW_MS)
    seen = large_page.evaluate("() => window.seen")
    # The strip of batches has one bar more, with its title, for each batch; everything else stays.
    assert seen["added"] <= 4 * updates, seen
    assert seen["removed"] <= updates, seen
    # Once for the batch, and once more at most for what is fetched beside it.
    assert laid_out <= 3 * updates, laid_out


def test_a_query_shows_just_its_trees_and_its_part_of_the_physical_graph(large_page: Page) -> None:
    large_page.get_by_label("Show only one query's paths").select_option("query006")
    nodes = large_page.locator("svg.forest .node")
    # Three-way: from each of its three streams two probes and the query itself.
    expect(nodes).to_have_count(3 * 4)
    large_page.get_by_role("button", name="Physical graph").click()
    expect(large_page.locator("svg.physical .node")).to_have_count(3 + 3 + 1, timeout=SLOW_MS)
    large_page.get_by_label("Show only one query's paths").select_option("")
    expect(large_page.get_by_text("This plan has 800 boxes")).to_be_visible()
    large_page.get_by_role("button", name="Probe trees").click()
    large_page.get_by_label("Find a step").fill("s123")
    expect(large_page.locator("svg.forest .node.source").first).to_be_visible()
    assert nodes.count() < 60
