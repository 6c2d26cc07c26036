"""The page Jobs, whose cards must be asked for by name: other stories make topologies, too."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def job_of(page: Page, topology: str) -> Locator:
    """The card of one topology."""
    return page.locator("article.job").filter(has=page.get_by_role("link", name=topology, exact=True))
