"""Who sees and may do what: a viewer, an author, an operator, and the admin who makes them so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, RunningProduct, barriers, signed_in
from tests.browser.jobs_page import job_of
from tests.browser.test_story import SLOW_MS

PASSWORD = "quiet-water-19"
WHY = "Only operators may do this."
MAKE = """
from django.contrib.auth.models import Group, User
for name, group in (("vera", "viewers"), ("august", "authors"), ("olga", "operators")):
    account, _ = User.objects.get_or_create(username=name)
    account.set_password({password!r}); account.save()
    account.groups.set([Group.objects.get_or_create(name=group)[0]])
account, _ = User.objects.get_or_create(username="ada", is_superuser=True)
account.set_password({password!r}); account.save()
from backend.accounts.models import Team
from backend.catalog.models import Query
team, _ = Team.objects.get_or_create(name="night")
team.members.set(User.objects.filter(username="august"))
Query.objects.filter(name="made_up_in_wind").update(team=team)
"""


@pytest.fixture(scope="module", autouse=True)
def accounts(product: RunningProduct) -> None:
    """One of each role in the product's own database."""
    environment = {**os.environ, "MILLRACE_HOME": str(product.home)}
    command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", MAKE.format(password=PASSWORD)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def has_no_barriers(page: Page, axe: str) -> None:
    """In the light, in the dark, and on a narrow screen."""
    for theme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 900})
        assert barriers(page, axe) == [], (theme, width)
    page.set_viewport_size({"width": 1280, "height": 900})


def refuses(page: Page, path: str, data: dict[str, object]) -> None:
    """The same that the page does not offer is refused to whoever asks for it without the page."""
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    answer = page.request.post(path, data=data, headers={"X-CSRFToken": token, "Referer": page.url})
    assert answer.status == 403, (path, answer.status, answer.text())


def test_a_new_author_is_shown_the_way_to_a_first_query(browser: Browser, product: RunningProduct) -> None:
    with signed_in(browser, product.url, "august", PASSWORD) as page:
        guide = page.get_by_role("region", name="Your first query")
        expect(guide.get_by_role("listitem")).to_have_count(3)
        expect(guide.get_by_role("listitem").first).to_contain_text("are there to read already")
        guide.get_by_role("link", name="Register a stream").click()
        expect(page.get_by_role("form", name="Register a stream")).to_be_visible()


def test_a_viewer_reads_everything_and_writes_nothing(browser: Browser, product: RunningProduct) -> None:
    with signed_in(browser, product.url, "vera", PASSWORD) as page:
        expect(page.get_by_role("link", name="made_up_in_wind")).to_be_visible()
        page.get_by_role("link", name="made_up_in_wind").click()
        expect(page.locator(".cm-content")).to_be_visible()
        expect(page.get_by_role("button", name="Undeploy…")).to_have_count(0)
        page.goto("/queries/")
        expect(page.get_by_role("link", name="made_up_in_wind")).to_be_visible()
        expect(page.get_by_role("link", name="New query")).to_have_count(0)
        page.goto("/queries/new/")
        expect(page.get_by_text("You are a viewer")).to_be_visible()
        expect(page.get_by_role("button", name="Save")).to_be_disabled()
        page.goto("/streams/")
        expect(page.get_by_role("link", name="departures").first).to_be_visible()
        expect(page.get_by_role("button", name="Register a stream")).to_have_count(0)
        page.goto("/streams/departures/")
        expect(page.get_by_role("button", name="Edit")).to_have_count(0)
        page.goto("/alerts/")
        expect(page.locator("section.alerts")).to_be_visible()
        expect(page.get_by_role("button", name="New alert")).to_have_count(0)
        page.goto("/jobs/")
        job = job_of(page, "flights")
        stop = job.get_by_role("button", name="Stop…")
        expect(stop).to_be_disabled(timeout=SLOW_MS)
        expect(stop).to_have_attribute("title", WHY)
        job.get_by_text("Scale", exact=True).click()
        expect(job.get_by_label("Tasks of departures")).to_be_disabled(timeout=SLOW_MS)
        job.get_by_text("Memory", exact=True).click()
        expect(job.get_by_label("Memory limit of flights, MB")).to_be_disabled()
        refuses(page, "/api/queries/", {"name": "mine", "sql": "SELECT d.flight FROM departures AS d"})
        refuses(page, "/api/streams/departures/events/", {"at": "2013-01-01T00:00:00Z"})
        refuses(page, "/api/topologies/flights/stop/", {"mode": "now"})


def test_an_author_writes_but_does_not_operate(browser: Browser, product: RunningProduct) -> None:
    with signed_in(browser, product.url, "august", PASSWORD) as page:
        page.goto("/streams/")
        expect(page.get_by_role("button", name="Register a stream")).to_be_visible()
        page.goto("/streams/departures/")
        expect(page.get_by_text("departures").first).to_be_visible()
        # The stream is the demo account's.
        expect(page.get_by_role("button", name="Edit")).to_have_count(0)
        page.goto("/topologies/flights/")
        for name in ("Re-optimize", "Stop…"):
            expect(page.get_by_role("button", name=name)).to_be_disabled(timeout=SLOW_MS)
        expect(page.get_by_role("button", name="Restart…")).to_be_disabled()
        refuses(page, "/api/topologies/flights/optimize/", {})


def test_an_operator_runs_topologies_and_is_no_admin(browser: Browser, product: RunningProduct) -> None:
    with signed_in(browser, product.url, "olga", PASSWORD) as page:
        expect(page.get_by_role("link", name="Admin")).to_have_count(0)
        page.goto("/topologies/flights/")
        expect(page.get_by_role("button", name="Stop…")).to_be_enabled(timeout=SLOW_MS)
        page.goto("/streams/departures/")
        expect(page.get_by_role("button", name="Edit")).to_be_visible()


def test_what_a_private_team_has_is_its_members(browser: Browser, product: RunningProduct) -> None:
    with signed_in(browser, product.url, "ada", PASSWORD) as page:
        page.get_by_role("link", name="Teams").click()
        expect(page.get_by_role("row", name="night august")).to_be_visible()
        page.get_by_label("Who reads what night has").select_option("members and admins")
        expect(page.get_by_role("status")).to_have_text("What night has is now read by members and admins.")
        page.reload()
        expect(page.get_by_label("Who reads what night has")).to_have_value("private")
    with signed_in(browser, product.url, "august", PASSWORD) as page:
        page.goto("/teams/")
        expect(page.get_by_role("row", name="night august members and admins")).to_be_visible()
        page.goto("/queries/")
        expect(page.get_by_role("link", name="made_up_in_wind")).to_be_visible()
    with signed_in(browser, product.url, "vera", PASSWORD) as page:
        page.goto("/queries/")
        expect(page.locator("section.catalog table")).to_be_visible()
        expect(page.get_by_role("link", name="made_up_in_wind")).to_have_count(0)
        page.goto("/topologies/flights/?view=trees")
        expect(page.get_by_text("1 query of other teams")).to_be_visible(timeout=SLOW_MS)
        expect(page.locator("svg.forest .node").first).to_be_visible(timeout=SLOW_MS)
        expect(page.get_by_text("made_up_in_wind")).to_have_count(0)
    with signed_in(browser, product.url, "ada", PASSWORD) as page:
        page.goto("/teams/")
        page.get_by_label("Who reads what night has").select_option("everybody")
        expect(page.get_by_role("status")).to_have_text("What night has is now read by everybody.")
    with signed_in(browser, product.url, "vera", PASSWORD) as page:
        page.goto("/queries/")
        expect(page.get_by_role("link", name="made_up_in_wind")).to_be_visible()


def test_an_admin_gives_a_role(browser: Browser, product: RunningProduct) -> None:
    with signed_in(browser, product.url, "ada", PASSWORD) as page:
        page.get_by_role("link", name="Accounts").click()
        page.get_by_label("Find in names").fill("vera")
        page.get_by_label("Find in names").press("Enter")
        expect(page.get_by_role("row")).to_have_count(2)
        with page.expect_response(lambda answer: answer.request.method == "PATCH") as changed:
            page.get_by_label("Role of vera").select_option("operator")
        assert changed.value.ok
    with signed_in(browser, product.url, "vera", PASSWORD) as page:
        page.goto("/topologies/flights/")
        expect(page.get_by_role("button", name="Re-optimize")).to_be_enabled(timeout=SLOW_MS)
        page.get_by_role("link", name="Accounts").click()
        expect(page.get_by_label("Role of vera")).to_have_count(0)
        page.get_by_role("button", name="Quotas of august").click()
        quotas = page.get_by_role("form", name="How much august may have")
        quotas.get_by_label("Queries").fill("many")
        expect(quotas.get_by_role("alert")).to_contain_text("queries: found many, expected a number")
        quotas.get_by_label("Queries").fill("7")
        quotas.get_by_role("button", name="Set").click()
        expect(quotas.get_by_role("status")).to_have_text("Set.")
    with signed_in(browser, product.url, "august", PASSWORD) as page:
        page.goto("/jobs/")
        expect(page.get_by_text("of 7 queries")).to_be_visible()


def test_an_admin_makes_an_account_and_its_owner_chooses_a_password(
    browser: Browser, product: RunningProduct, axe: str
) -> None:
    with signed_in(browser, product.url, "ada", PASSWORD) as page:
        page.goto("/accounts/")
        form = page.get_by_role("form", name="Make an account")
        form.get_by_label("Name").fill("kim")
        form.get_by_label("E-mail").fill("kim@example.org")
        form.get_by_role("button").click()
        link = page.locator("code.secret").inner_text()
        page.get_by_role("button", name="Manage kim").click()
        kim = page.get_by_role("region", name="Account kim")
        expect(kim.get_by_text("Signed in nowhere.")).to_be_visible()
        has_no_barriers(page, axe)
        page.goto("/teams/")
        page.get_by_label("Name of a new team").fill("cargo")
        page.get_by_role("button", name="Make a team").click()
        page.get_by_text("Members, limits and name of cargo").click()
        cargo = page.get_by_role("region", name="Manage cargo")
        expect(cargo.get_by_text("Nobody is in cargo.")).to_be_visible()
        cargo.get_by_label("Account").select_option("kim")
        cargo.get_by_role("button", name="Add").click()
        expect(cargo.get_by_role("button", name="Take out kim")).to_be_visible()
        limits = page.get_by_role("form", name="Limits of queries of cargo")
        limits.get_by_label("Tuples kept").fill("1e6")
        limits.get_by_role("button", name="Set").click()
        expect(limits.get_by_role("status")).to_have_text("Set.")
        has_no_barriers(page, axe)
    guest = browser.new_context(base_url=product.url).new_page()
    guest.goto(link)
    guest.get_by_label("New password").fill(PASSWORD)
    guest.get_by_label("The same again").fill("another-1")
    guest.get_by_role("button", name="Set the password").click()
    expect(guest.get_by_role("alert")).to_be_visible()
    assert barriers(guest, axe) == []
    guest.get_by_label("New password").fill(PASSWORD)
    guest.get_by_label("The same again").fill(PASSWORD)
    guest.get_by_role("button", name="Set the password").click()
    expect(guest).to_have_title(re.compile("Sign in"))
    with guest.expect_response(link) as again:
        guest.goto(link)
    assert again.value.status == 404
    expect(guest.get_by_role("alert")).to_contain_text("not good, or no longer")
    guest.context.close()
    with signed_in(browser, product.url, "kim", PASSWORD) as page:
        page.goto("/teams/")
        expect(page.get_by_role("cell", name="cargo")).to_be_visible()
        expect(page.get_by_role("link", name="Accounts")).to_have_count(0)


def test_an_admin_sees_who_changed_what(browser: Browser, product: RunningProduct, axe: str) -> None:
    with signed_in(browser, product.url, "ada", PASSWORD) as page:
        page.get_by_role("link", name="Audit").click()
        filters = page.get_by_role("form", name="Narrow")
        filters.get_by_label("Of what").select_option("query")
        filters.get_by_label("Find in names").fill("made_up_in_wind")
        filters.get_by_label("Find in names").press("Enter")
        made = page.get_by_role("row", name="demo by command create_demo create query made_up_in_wind")
        made.get_by_text("sql", exact=False).first.click()
        expect(made.locator("ins").filter(has_text="SELECT")).to_be_visible()
        has_no_barriers(page, axe)
        page.reload()
        expect(filters.get_by_label("Of what")).to_have_value("query")
        expect(made).to_be_visible()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download as CSV").click()
        assert "made_up_in_wind" in Path(waiting.value.path()).read_text()
        filters.get_by_label("Who", exact=True).fill("nobody-at-all")
        filters.get_by_role("button", name="Find").click()
        page.get_by_role("button", name="Show all").click()
        expect(page.get_by_role("row", name=re.compile("ada sign in account ada")).first).to_be_visible()
    with signed_in(browser, product.url, "olga", PASSWORD) as page:
        expect(page.get_by_role("link", name="Audit")).to_have_count(0)


def test_an_admin_says_what_a_team_may_spend(browser: Browser, product: RunningProduct) -> None:
    with signed_in(browser, product.url, "ada", PASSWORD) as page:
        page.goto("/costs/")
        budgets = page.get_by_role("region", name="Budgets")
        field = budgets.get_by_label("EUR a month for night")
        field.fill("250")
        budgets.get_by_role("row", name="night").get_by_role("button", name="Set").click()
        expect(budgets.get_by_role("alert")).to_have_count(0)
        page.reload()
        expect(field).to_have_value("250")
    with signed_in(browser, product.url, "august", PASSWORD) as page:
        page.goto("/costs/")
        budgets = page.get_by_role("region", name="Budgets")
        expect(budgets.get_by_role("row", name="night")).to_contain_text("EUR 250.00 a month")
        expect(budgets.get_by_role("textbox")).to_have_count(0)
    with signed_in(browser, product.url, "vera", PASSWORD) as page:
        page.goto("/costs/")
        expect(page.get_by_role("region", name="Costs by query")).to_be_visible(timeout=SLOW_MS)
        expect(page.get_by_role("region", name="Budgets")).to_have_count(0)
