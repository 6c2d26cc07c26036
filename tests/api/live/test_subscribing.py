"""The guide to subscriptions, and its notebook, run against a server with results."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from backend.live.subscription.kept import begin_keeping
from backend.topologies.folders import directory
from jobs.protocol.sealed import seal
from tests.api.conftest import ROOT, Run
from tests.api.guide import run_page


@pytest.fixture
def token(demo: str) -> str:
    """The demo's, whose queries the guide names."""
    return demo


@pytest.fixture
def results(demo: str) -> None:
    """What a job of `flights` has committed: one batch with two results of `late_with_gusts`."""
    home = directory("flights")
    path = Path("results/late_with_gusts/00000000-2-000.parquet")
    (home / "checkpoint/commits").mkdir(parents=True)
    (home / "checkpoint/checkpoint.json").write_text(json.dumps({"id": "0123abcd" * 4}))
    begin_keeping("flights")
    (home / "out" / path).parent.mkdir(parents=True)
    columns = {
        "at": [datetime(2013, 1, 1, 16, 1, tzinfo=UTC), datetime(2013, 1, 1, 16, 40, tzinfo=UTC)],
        "flight": ["UA1", "UA2"],
        "origin": ["EWR", "JFK"],
        "delay": [71.0, 64.0],
        "wind_gust": [25.0, None],
    }
    pl.DataFrame(columns).write_parquet(home / "out" / path)
    manifest = {"batch": 0, "files": [{"path": str(path), "rows": 2, "attempt": "x"}]}
    (home / "checkpoint/commits/0.json").write_bytes(seal(json.dumps(manifest).encode()))


@pytest.mark.usefixtures("results")
def test_the_commands_of_the_guide_do_what_it_says(run: Run, tmp_path: Path) -> None:
    assert run_page("subscribe.md", tmp_path, run) == 2


@pytest.mark.usefixtures("results")
def test_the_notebook_runs(
    live_server: object, token: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MILLRACE_URL", live_server.url)  # type: ignore[attr-defined]
    monkeypatch.setenv("MILLRACE_TOKEN", token)
    notebook = json.loads((ROOT / "docs/guide/results.ipynb").read_text())
    assert (notebook["nbformat"], notebook["metadata"]["language_info"]["name"]) == (4, "python")
    names: dict[str, object] = {}
    for number, cell in enumerate(one for one in notebook["cells"] if one["cell_type"] == "code"):
        assert cell["outputs"] == [], "outputs are not kept in the repository"
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert names["table"].cursor == "0123abcd.1.0"  # type: ignore[attr-defined]
    assert names["frame"]["wind_gust"].to_list() == [25.0, None]  # type: ignore[index]
    assert len(names["later"]) == 0  # type: ignore[arg-type]
    assert "'flight': 'UA1', 'origin': 'EWR', 'delay': 71.0, 'wind_gust': 25.0}" in capsys.readouterr().out
