"""The command and the client against a live server, as a person of a folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from backend.client import Millrace
from backend.streams.models import Stream as StreamRecord
from backend.tokens.actions import create_token

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def token(owner: User, streams: dict[str, StreamRecord]) -> str:
    return create_token(owner, "laptop")[1]


@pytest.fixture
def millrace(live_server: object, token: str) -> Millrace:
    return Millrace(live_server.url, token)  # type: ignore[attr-defined]


@pytest.fixture
def run(live_server: object, token: str, tmp_path: Path) -> Run:
    """The command, in a folder of its own."""
    environment = {**os.environ, "MILLRACE_URL": live_server.url, "MILLRACE_TOKEN": token}  # type: ignore[attr-defined]
    environment["PYTHONPATH"] = str(ROOT)

    def command(*words: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "backend.client", *words],
            cwd=tmp_path,
            env={**environment, **settings},
            input=text,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return command
