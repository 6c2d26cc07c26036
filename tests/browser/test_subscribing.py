"""A program subscribes to results that a job of the product commits: each once, as the page has them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from backend.client import Millrace, Refused
from tests.browser.conftest import RunningProduct

QUERY = "delays_by_hour"
PATIENCE_S = 300.0


@pytest.fixture
def millrace(page: Page, product: RunningProduct) -> Iterator[Millrace]:
    page.goto("/tokens/")
    page.get_by_label("Name").fill("subscriber")
    page.get_by_role("button", name="Make a token").click()
    yield Millrace(product.url, page.locator("code.secret").inner_text())
    page.get_by_role("button", name="Revoke subscriber").click()


def test_a_subscription_has_what_the_page_has_and_goes_on(
    page: Page, product: RunningProduct, millrace: Millrace
) -> None:
    first = _kept(millrace)
    # The page keeps the newest results: all but the oldest of its batches whole.
    results = f"{product.url}/api/queries/{millrace.query(QUERY).id}/results/"
    until = time.monotonic() + PATIENCE_S
    while len(set((shown := page.request.get(results, params={"limit": 1000}).json())["batches"])) < 2:
        assert time.monotonic() < until, "all results are of one batch"
        time.sleep(1)
    both = set(shown["batches"]) - {min(shown["batches"])}
    told: Counter[tuple[int, str]] = Counter()
    cursor, last = first, -1
    for result in millrace.subscribe(QUERY, since=first):
        told[result.batch, _text(result.row)] += 1
        cursor, last = result.id, max(last, result.batch)
        if last > max(both):
            break
    on_page = Counter(
        (batch, _text(row))
        for batch, row in zip(shown["batches"], shown["rows"], strict=True)
        if batch in both
    )
    assert on_page == Counter({key: many for key, many in told.items() if key[0] in both})
    table = millrace.table(QUERY, since="earliest").arrow()
    assert table.num_rows >= sum(told.values())
    assert {"hour", "origin", "flights"} <= set(table.column_names)
    # From its cursor on nothing comes again.
    again = next(iter(millrace.subscribe(QUERY, since=cursor)))
    assert again.batch >= last


def _kept(millrace: Millrace) -> str:
    """The cursor of the oldest results, once there are any."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            if millrace.table(QUERY, since="earliest", limit=1).arrow().num_rows:
                return "earliest"
        except Refused as refusal:
            # The topology is being launched.
            if refusal.status != 409:
                raise
        assert time.monotonic() < until, "the demo has no results"
        time.sleep(1)


def _text(row: object) -> str:
    return str(sorted(dict(row).items()))  # type: ignore[call-overload]
