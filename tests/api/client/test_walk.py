"""The guide to queries in git, walked command by command on the demo, as whoever opens the product would."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from backend.planning import revisions
from backend.tokens.actions import create_token
from backend.topologies.models import Topology
from tests.api.conftest import Run
from tests.api.guide import run_page


@pytest.fixture
def token(db: None) -> str:
    """The demo's, whose streams have the columns that the guide names."""
    call_command("create_demo")
    assert revisions.plan_newest(Topology.objects.get(name="flights").pk)
    return create_token(User.objects.get(username="demo"), "laptop")[1]


def test_every_command_of_the_guide_does_what_it_says(run: Run, tmp_path: Path) -> None:
    assert run_page("git.md", tmp_path, run) == 9
