"""What people see of whether results are right, and of a query that moves to a topology of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

from tests.browser.jobs_page import job_of
from tests.browser.test_operating import PAIRS, wait_for_results
from tests.browser.test_story import SLOW_MS

EQUAL = re.compile(r"checked .* ago: [\d,]+ results? equal")


def test_every_page_says_whether_results_are_right(page: Page) -> None:
    wait_for_results(page)
    page.goto("/queries/")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="made_up_in_wind"))
    # A query is checked once a minute.
    expect(row).to_contain_text(EQUAL, timeout=SLOW_MS)
    row.get_by_role("link", name="made_up_in_wind").click()
    expect(page.locator(".toolbar .light")).to_contain_text(EQUAL)
    page.get_by_role("tab", name="Checks").click()
    checks = page.get_by_role("region", name="Checks").locator("tbody tr")
    expect(checks.first).to_contain_text(re.compile(r"results? equal"))
    page.goto("/topologies/flights/?tab=Queries")
    expect(page.locator(".topology-head .light")).to_contain_text("correct as of", timeout=SLOW_MS)
    told = (
        page.get_by_role("region", name="Queries", exact=True).get_by_role("row").filter(has_text="made_up")
    )
    expect(told).to_contain_text(re.compile(r"checked \d\d:\d\d:\d\d UTC: .* equal"))


def test_forecasts_say_how_often_they_held(page: Page) -> None:
    wait_for_results(page)
    page.goto("/topologies/flights/?tab=Forecasts")
    forecasts = page.get_by_role("region", name="Forecasts").locator("tbody tr")
    expect(forecasts.filter(has_text="made_up_in_wind").first).to_contain_text(
        re.compile("open|held|missed|overtaken"), timeout=SLOW_MS
    )
    page.goto("/queries/new/")
    page.locator(".cm-content").click()
    page.keyboard.insert_text(PAIRS)
    state = page.get_by_label("State and advice")
    expect(state).to_contain_text(
        re.compile(r"of \d+ forecasts?, \d+ held \(\d+ %\)|no forecast has been compared"), timeout=SLOW_MS
    )


@contextmanager
def deployed(page: Page, name: str) -> Iterator[str]:
    """A query of its own in the demo's topology, which is as it was afterwards; yields the query's URL."""
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": page.url}
    made = page.request.post("/api/queries/", data={"name": name, "sql": PAIRS}, headers=headers)
    assert made.status == 201, made.text()
    url = f"/api/queries/{made.json()['id']}/"
    asked = page.request.post(f"{url}deploy/", data={"topology": "flights"}, headers=headers)
    assert asked.status == 202, asked.text()
    try:
        yield url
    finally:
        # Idle for long, the connection may be closed by the server while it is used again, as for any client.
        again = 3
        assert (
            page.request.put(f"{url}pin/", data={"topology": None}, headers=headers, max_retries=again).status
            == 200
        )
        assert page.request.post(f"{url}undeploy/", headers=headers, max_retries=again).status == 202
        assert page.request.delete(url, headers=headers, max_retries=again).status == 204
    # The other stories count on a plan of the demo's queries alone.
    page.wait_for_function(
        """async (name) => {
            const answer = await fetch("/api/topologies/flights/graph/");
            return !(await answer.json()).graph.queries.some((query) => query.name === name);
        }""",
        arg=name,
        timeout=SLOW_MS,
    )


def test_a_query_moves_to_a_topology_of_its_own_and_back(page: Page) -> None:
    wait_for_results(page)
    name = f"mover-{os.getpid()}"

    def move(topology: str, target: str | None) -> None:
        """Choose on the jobs' page who answers the query; a target that is not there yet is named."""
        page.goto("/jobs/")
        job = job_of(page, topology)
        job.get_by_text("Queries and where they run").click()
        choice = job.get_by_label(f"Which topology answers {name}")
        if target is None:
            choice.select_option(label="a new topology…")
            job.get_by_label(f"Name of the new topology for {name}").fill("apart")
            job.get_by_role("button", name="Pin").click()
        else:
            choice.select_option(label=f"pinned to {target}")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(f"{topology} stops answering it")
        dialog.get_by_role("button", name="Move it").click()
        expect(choice).to_have_count(0, timeout=SLOW_MS)

    with deployed(page, name):
        move("flights", None)
        page.goto("/queries/")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name))
        expect(row.get_by_role("link", name="apart")).to_be_visible()
        move("apart", "flights")
        page.goto("/topologies/flights/?tab=Queries")
        queries = page.get_by_role("region", name="Queries", exact=True)
        expect(queries).to_contain_text(name, timeout=SLOW_MS)


WATCHED = """(svg) => {
    const place = ({ e, f }) => `${Math.round(e)} ${Math.round(f)}`;
    const places = () => Object.fromEntries([...svg.querySelectorAll(".node")].map((node) =>
        [node.dataset.key, place(node.transform.baseVal.consolidate().matrix)]));
    window.told = { before: places(), moving: [], places };
    new MutationObserver(() => window.told.moving.push(svg.classList.contains("moving")))
        .observe(svg, { attributes: true, attributeFilter: ["class"] });
}"""
"""Remembers where a drawing's nodes are, and when it begins and ends to move."""


def test_a_change_of_the_plan_is_a_motion_that_ends_at_the_new_plan(page: Page) -> None:
    wait_for_results(page)
    page.goto("/topologies/flights/?view=trees")
    # By chance statistics change the plan as well; what stays of both may be what stands above the newcomer.
    names = (f"newcomer-{attempt}-{os.getpid()}" for attempt in range(3))
    assert any(_moves(page, name) for name in names), "nothing that stays has moved"


def _moves(page: Page, name: str) -> bool:
    """True if one more query moves what is drawn already; it moves, and arrives, in any case."""
    still = page.locator("svg.forest:not(.moving)")
    expect(still.locator(".node").first).to_be_visible(timeout=SLOW_MS)
    # Where one that has left is drawn still, this one takes its place, and nothing moves.
    left = page.locator("svg.forest .node.query title").filter(has_text=re.compile("mover-|newcomer-"))
    expect(left).to_have_count(0, timeout=SLOW_MS)
    expect(still).to_have_count(1)
    drawing = still.element_handle()
    assert drawing is not None
    drawing.evaluate(WATCHED)
    with deployed(page, name):
        # The plan is exchanged under the eyes of whoever looks at it.
        expect(page.locator("svg.forest .node.query title").filter(has_text=name).first).to_be_attached(
            timeout=SLOW_MS
        )
        expect(still).to_have_count(1)
        moving, before, after = drawing.evaluate("() => [told.moving, told.before, told.places()]")
        # First may come the end of a motion to the plan before.
        assert True in moving, "it does not begin to move"
        assert moving[-1] is False, "it does not arrive"
        both = before.keys() & after.keys()
        assert both, "nothing stays"
        assert after.keys() - before.keys(), "nothing is new"
        return any(before[key] != after[key] for key in both)
