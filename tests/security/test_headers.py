"""What browsers are told, and Django's own list of what a deployment must have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as product
from django.test import Client

PAGES = ("/login/", "/queries/", "/topologies/", "/streams/", "/jobs/", "/api/docs/", "/accounts/")
SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>", re.IGNORECASE)
HANDLER = re.compile(r"<[^>]+\son[a-z]+\s*=", re.IGNORECASE)
DATA = re.compile(r'type="(application/json|text/[a-z-]*template)"')


@pytest.mark.django_db
@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_a_script_in_it(page: str, operator: object, as_operator: Client) -> None:
    client = Client() if page == "/login/" else as_operator
    answer = client.get(page)
    assert answer.status_code == 200
    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    text = answer.content.decode()
    assert [tag for tag in SCRIPT.findall(text) if not DATA.search(tag)] == []
    assert HANDLER.findall(text) == []
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"


def test_the_built_front_end_evaluates_no_text() -> None:
    built = sorted(Path(product.FRONTEND_DIST).glob("assets/*.js"))
    if not built:
        pytest.skip("the front end is not built: make setup")
    for file in built:
        text = file.read_text()
        assert re.search(r"(?<![\w.$])eval\(", text) is None, file.name


def test_check_deploy_finds_nothing(tmp_path: Path) -> None:
    done = _manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr


def test_check_deploy_refuses_the_known_password(tmp_path: Path) -> None:
    done = _manage(tmp_path, "check", "--deploy", MILLRACE_DEMO="1")
    assert done.returncode != 0
    assert "millrace.E006" in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MILLRACE_RATE_ACCOUNT", "many"),
        ("MILLRACE_RATE_SIGN_IN", "seldom"),
        ("MILLRACE_TRUSTED_PROXIES", "proxy"),
        ("MILLRACE_TRUSTED_PROXIES", "10.1.2.3/8"),
        ("MILLRACE_TRUSTED_PROXIES", ""),
        ("MILLRACE_QUOTA_TOPOLOGIES", "few"),
        ("MILLRACE_MAX_JOBS", "0"),
        ("MILLRACE_LOGIN_FAILURES", "0"),
        ("MILLRACE_LOG_FORMAT", "xml"),
        ("MILLRACE_MAX_STATE_TUPLES", "lots"),
    ],
)
def test_a_setting_that_cannot_be_is_named(tmp_path: Path, name: str, value: str) -> None:
    done = _manage(tmp_path, "check", "--fail-level", "WARNING", **{name: value})
    assert done.returncode != 0
    assert name in done.stderr


def _manage(home: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    environment |= {
        "MILLRACE_HOME": str(home),
        "MILLRACE_SECURE": "1",
        "MILLRACE_HOSTS": "millrace.example",
        "MILLRACE_TRUSTED_PROXIES": "10.0.0.2",
        "REDIS_URL": "redis://localhost:1/0",
        **settings,
    }
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=product.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
