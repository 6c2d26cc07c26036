"""The guide's first ten minutes, done as it is written.

The sentences that say what to do are read from the guide: *words* name what is on the page, `code` and blocks
are typed. A sentence with such words that no rule below reads fails the test, so that the guide says nothing
that is not tried.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from tests.browser.conftest import ROOT, RunningProduct
from tests.browser.test_story import SLOW_MS, write

GUIDE = ROOT / "docs" / "guide" / "first-steps.md"
_STEP = re.compile(r"^\d+\. (.*?)(?=^\d+\. |^#|^```|\Z)|^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ACT = re.compile(
    r"[Tt]ype `(?P<typed>[^`]+)` into \*(?P<label>[^*]+)\*"
    r"|and `(?P<also>[^`]+)` into \*(?P<beside>[^*]+)\*"
    r"|[Pp]ress \*(?P<pressed>[^*]+)\*"
    r"|then \*(?P<then>[^*]+)\*"
    r"|and \*(?P<again>[^*]+)\* once more"
    r"|paste (?:one|two) tuples? into \*(?P<pasted>[^*]+)\*:"
    r"|[Yy]ou see (?:\n\s*)?\*(?P<seen>[^*]+)\*"
    r"|[Ii]t answers \*(?P<answered>[^*]+)\*"
    r"|and \*(?P<and>[^*]+)\*"
    r"|in \*(?P<place>[^*]+)\* (?=you see)"
)


@dataclass(frozen=True, slots=True)
class Act:
    """One thing to do, or to look for: `kind` names the rule that read it."""

    kind: str
    words: str
    into: str = ""


def acts() -> Iterator[Act]:
    """What the guide says, in its order."""
    for step in _STEP.finditer(GUIDE.read_text()):
        if step[1] is None:
            yield Act(step[2] or "shown", step[3])
            continue
        text, read = re.sub(r"\s+", " ", step[1]), ""
        kind = ""
        for found in _ACT.finditer(text):
            read += found[0]
            said = {name: words for name, words in found.groupdict().items() if words is not None}
            if "typed" in said or "also" in said:
                into = said.get("label") or said["beside"]
                yield Act("typed", said.get("typed") or said["also"], into)
                continue
            ((name, words),) = said.items()
            # "and" goes on with what was done before it.
            kind = {"then": "pressed", "again": "confirmed", "and": kind}.get(name, name)
            yield Act(kind, words)
        unread = set(re.findall(r"\*[^*]+\*|`[^`]+`", text)) - set(re.findall(r"\*[^*]+\*|`[^`]+`", read))
        assert not unread, f"{GUIDE.name}: no rule reads {unread} in {text!r}"


class Newcomer:
    """Somebody with a browser and a terminal."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.pasted, self.answer = page, "", ""
        path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "MILLRACE_URL": url, "PATH": path}

    def do(self, act: Act) -> None:
        getattr(self, act.kind)(act)

    def shown(self, act: Act) -> None:
        """How the product is started, which it was."""
        assert act.words in (ROOT / "README.md").read_text()

    def typed(self, act: Act) -> None:
        self.page.get_by_label(act.into, exact=True).fill(act.words)

    def pressed(self, act: Act) -> None:
        self._control(act.words).click(timeout=SLOW_MS)

    def confirmed(self, act: Act) -> None:
        self.page.get_by_role("dialog").get_by_role("button", name=act.words, exact=True).click()

    def seen(self, act: Act) -> None:
        expect(
            self.page.locator("main").get_by_text(act.words).or_(self._heading(act.words)).first
        ).to_be_visible(timeout=SLOW_MS)

    def place(self, act: Act) -> None:
        self.page.get_by_role("tab", name=act.words, exact=True).click()

    def pasted_into(self, act: Act) -> None:
        self.page.get_by_label(self.pasted).fill(act.words)

    def answered(self, act: Act) -> None:
        assert act.words in self.answer

    def jsonl(self, act: Act) -> None:
        self.pasted_into(act)

    def sql(self, act: Act) -> None:
        write(self.page, act.words)

    def sh(self, act: Act) -> None:
        commands = act.words
        if "millrace_..." in commands:
            self.environment["MILLRACE_TOKEN"] = self.page.locator("code.secret").inner_text()
            first, _, commands = commands.partition("\n")
            assert first == "export MILLRACE_TOKEN=millrace_..."
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.answer = done.stdout

    def _control(self, name: str) -> Locator:
        found = self.page.get_by_role("button", name=name, exact=True)
        for role in ("link", "tab"):
            found = found.or_(self.page.get_by_role(role, name=name, exact=True))  # type: ignore[arg-type]
        return found.first

    def _heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name)


@pytest.fixture
def stranger(browser: Browser, product: RunningProduct) -> Iterator[Page]:
    """A page of somebody who was never here; the test fails if its console ever shows an error."""
    complaints: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"{message.text} ({message.location.get('url')})")

    page = browser.new_page(base_url=product.url, viewport={"width": 1280, "height": 900})
    page.set_default_timeout(SLOW_MS)
    page.on("console", listen)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    _tidy(page)
    page.close()
    assert not complaints


def _tidy(page: Page) -> None:
    """The product is other stories' as well: leave nothing that has a name in them."""
    cookies = {one["name"]: one["value"] for one in page.context.cookies()}
    headers = {"X-CSRFToken": cookies["csrftoken"], "Referer": page.url}
    queries = page.request.get("/api/queries/").json()
    mine = [one["id"] for one in queries if one["name"] == "slow_payments"]
    for path in (*(f"/api/queries/{one}/" for one in mine), "/api/streams/orders/", "/api/streams/payments/"):
        deleted = page.request.delete(path, headers=headers)
        assert deleted.ok, deleted.text()


def test_the_first_ten_minutes_are_as_the_guide_says(stranger: Page, product: RunningProduct) -> None:
    newcomer = Newcomer(stranger, product.url)
    stranger.goto("/")
    for act in acts():
        if act.kind == "pasted":
            newcomer.pasted = act.words
        else:
            newcomer.do(act)


def test_the_guide_says_what_is_tried() -> None:
    said = list(acts())
    assert len(said) > 40
    assert {act.kind for act in said} == {
        *("shown", "typed", "pressed", "confirmed", "seen", "place", "pasted", "answered"),
        *("jsonl", "sql", "sh"),
    }
