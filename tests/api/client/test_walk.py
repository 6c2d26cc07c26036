"""The guide to queries in git, walked command by command on the demo, as whoever opens the product would."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.conftest import Run
from tests.api.guide import run_page


@pytest.fixture
def token(demo: str) -> str:
    """The demo's, whose streams have the columns that the guide names."""
    return demo


def test_every_command_of_the_guide_does_what_it_says(run: Run, tmp_path: Path) -> None:
    assert run_page("git.md", tmp_path, run) == 9
