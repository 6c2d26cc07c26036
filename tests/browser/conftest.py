"""The running product, as `make run` starts it, and a Chromium that looks at it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, StorageState, expect, sync_playwright

from backend.run.setting import free_port
from tests.registry.stand_in import StandIn

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_MS = 120_000
"""For everything that a test waits for and that asks nothing of Spark: no test is about speed."""
expect.set_options(timeout=PATIENCE_MS)


@dataclass(frozen=True, slots=True)
class RunningProduct:
    url: str
    home: Path
    process: subprocess.Popen[str] | None
    """None if somebody else started it."""

    def stop(self) -> int:
        """Ctrl-C; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=600)

    def processes(self) -> list[psutil.Process]:
        """All that was started for it and still lives."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("MILLRACE_RUN_OF") == str(self.home.resolve()):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
        return found


@pytest.fixture(scope="session")
def registry() -> Iterator[StandIn]:
    """The schema registry of the product that is started for the tests."""
    server = StandIn().start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory, registry: StandIn) -> Iterator[RunningProduct]:
    """Started for the tests, or, while writing them, the one at MILLRACE_URL."""
    if there := os.environ.get("MILLRACE_URL"):
        yield RunningProduct(there, Path(os.environ.get("MILLRACE_HOME", ROOT / ".millrace")), None)
        return
    home = tmp_path_factory.mktemp("home")
    environment = {**os.environ, "PORT": str(free_port()), "MILLRACE_HOME": str(home)}
    environment["MILLRACE_PRICE_CORE_HOUR"] = "0.05"
    environment["MILLRACE_RESULT_FILES"] = "1"
    environment["MILLRACE_SCHEMA_REGISTRY_URL"] = registry.url
    environment.pop("REDIS_URL", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "backend.run"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.match(r"Millrace\s+(http\S+)", line):
            running = RunningProduct(found.group(1), home, process)
            break
    else:
        pytest.fail(f"the product did not start: {''.join(said)}")
    yield running
    if process.poll() is None:
        assert running.stop() == 0, "the product does not end cleanly"
    assert not running.processes(), "the product leaves processes behind"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = os.environ.get("MILLRACE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    # As root in a container, Chromium's own sandbox cannot be set up.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=arguments)
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, as npm installed it."""
    return (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text()


def barriers(page: Page, axe: str) -> list[str]:
    """What axe finds on a page that keeps somebody from using it: the rule, and the first place."""
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    grave = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in grave]


_sessions: dict[tuple[str, str], StorageState] = {}
"""Of each site and account, since its first page signed in."""


@contextmanager
def signed_in(
    browser: Browser, url: str, account: str, password: str, refusing: str | None = None
) -> Iterator[Page]:
    """A page that is signed in; the test fails if its console ever showed an error.

    A refusal is an error to the console, too: those of the path `refusing` are what the test is about.

    An account signs in once, as a person's browser does: the site refuses more than thirty attempts a minute
    from one address, and quick tests make more.
    """
    complaints: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        path = urlsplit(message.location.get("url", "")).path
        if message.type == "error" and (refusing is None or path != refusing):
            complaints.append(f"{message.text} ({message.location.get('url')})")

    session = _sessions.get((url, account))
    opened = browser.new_page(base_url=url, viewport={"width": 1280, "height": 900}, storage_state=session)
    opened.set_default_timeout(PATIENCE_MS)
    opened.on("console", listen)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto("/")
    if session is None:
        opened.get_by_label("Account").fill(account)
        opened.get_by_label("Password").fill(password)
        opened.get_by_role("button", name="Sign in").click()
    # Its path, and not its end: the page of signing in names it as the next one.
    opened.wait_for_url(f"{url}/")
    _sessions.setdefault((url, account), opened.context.storage_state())
    yield opened
    opened.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def page(browser: Browser, product: RunningProduct) -> Iterator[Page]:
    """Signed in as the demo's account, which is an operator."""
    with signed_in(
        browser, product.url, "demo", os.environ.get("MILLRACE_DEMO_PASSWORD", "millrace")
    ) as opened:
        yield opened
