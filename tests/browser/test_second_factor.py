"""A person activates a second factor, and signs in with a code of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, ROOT, RunningProduct, barriers

PASSWORD = "quiet-water-19"
MAKE = f"""
from django.contrib.auth.models import User
User.objects.create_user("faye", password={PASSWORD!r})
"""


def accessible(page: Page, axe: str) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        assert barriers(page, axe) == [], page.url


def code(key: str, after: int = 0) -> tuple[str, int]:
    """What the app shows next after a time step, and its step; waits for it."""
    while (step := int(time.time()) // 30) <= after:
        time.sleep(0.2)
    return format_hotp_value(hotp_value(key, step)), step


def sign_in(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Account").fill("faye")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_a_code_is_asked_for_once_it_is_activated(
    browser: Browser, product: RunningProduct, axe: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "MILLRACE_HOME": str(product.home)}
    command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", MAKE]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    page = browser.new_page(base_url=product.url, viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    sign_in(page)
    page.get_by_role("link", name="Security", exact=True).click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    accessible(page, axe)
    key = page.locator("code.secret").inner_text().replace(" ", "")
    shown, step = code(key)
    page.get_by_label("Code that the app shows").fill(shown)
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Activate").click()
    expect(page.locator(".recovery-codes li")).to_have_count(10)
    accessible(page, axe)
    recovery = page.locator(".recovery-codes li").all_inner_texts()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(tmp_path / "codes.txt")
    assert set(recovery) <= set((tmp_path / "codes.txt").read_text().split())
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("10 recovery codes left")).to_be_visible()
    accessible(page, axe)
    page.get_by_role("button", name="Sign out").click()
    sign_in(page)
    expect(page.get_by_label("Code")).to_be_visible()
    accessible(page, axe)
    page.get_by_label("Code").fill(shown)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong or used code")
    page.get_by_label("Code").fill(code(key, after=step)[0])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{product.url}/")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.close()
    assert not complaints, complaints
