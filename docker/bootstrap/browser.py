"""A Chromium for the browser tests: the machine's own, else Debian's, else Playwright's."""

import os
import shutil
import subprocess
from pathlib import Path

from console import CannotInstall, apt_install, run, say
from packages import PYTHON, VENV

_NOTE = VENV / "chromium"
"""Holds the path of what was found, for the Makefile."""
_ASK_PLAYWRIGHT = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


def find() -> Path | None:
    """A Chromium or Chrome, or None."""
    wanted = os.environ.get("MILLRACE_CHROMIUM")
    if wanted:
        return Path(wanted) if Path(wanted).exists() else None
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"):
        if found := shutil.which(name):
            return Path(found)
    if not PYTHON.exists():
        return None
    asked = subprocess.run([PYTHON, "-c", _ASK_PLAYWRIGHT], capture_output=True, text=True, check=False)
    path = Path(asked.stdout.strip() or "/nonexistent")
    return path if path.exists() else None


def install() -> None:
    found = find()
    if found is None:
        say("chromium", "none found: installing it for the browser tests")
        why_not_debian = apt_install("chromium")
        found = find()
        if found is None:
            with_libraries = ["--with-deps"] if os.geteuid() == 0 else []
            why_not = run([PYTHON, "-m", "playwright", "install", *with_libraries, "chromium"])
            found = find()
            if found is None:
                raise CannotInstall(
                    "the browser tests need a Chromium and it cannot be installed from here "
                    f"(Debian: {(why_not_debian or 'nothing usable').splitlines()[-1]}; "
                    f"Playwright: {(why_not or 'nothing usable').splitlines()[-1]}); install Chromium or set "
                    "MILLRACE_CHROMIUM to its path, then call make again"
                )
    _NOTE.write_text(str(found))
