"""The client and its command against a real server: what they print, and their exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import redis

from backend.catalog.models import Query as QueryRecord
from backend.client import ClientError, Millrace, Refused, Unreachable
from backend.planning import revisions
from backend.run.setting import free_port
from backend.topologies.models import Topology
from jobs.protocol import results_key
from tests.api.conftest import ROOT, TWO_WAY, Run


def test_a_query_is_deployed_watched_and_stopped(run: Run, tmp_path: Path, bus: redis.Redis) -> None:
    (tmp_path / "gusty.sql").write_text(TWO_WAY)
    done = run("deploy", "gusty.sql", "--wait", "0")
    assert (done.returncode, done.stdout) == (0, "gusty v1 goes to main\n"), done.stderr
    # The same text again is the same version; another one is the next.
    assert run("deploy", "gusty.sql", "--wait", "0").stdout == "gusty v1 goes to main\n"
    (tmp_path / "gusty.sql").write_text(TWO_WAY + "AND w.wind > 3")
    assert run("deploy", "gusty.sql", "--wait", "0").stdout == "gusty v2 goes to main\n"

    lines = run("status").stdout.splitlines()
    assert lines[1].split()[:3] == ["main", "starting", "1"]
    assert lines[4].split() == ["gusty", "2", "deploying", "main", "ann", "departures,", "weather"]

    for number in range(3):
        bus.xadd(results_key("main", "gusty"), {"json": json.dumps({"flight": number}), "batch": "0"})
    newest = run("tail", "gusty", "--once", "--limit", "2")
    assert [json.loads(line) for line in newest.stdout.splitlines()] == [{"flight": 1}, {"flight": 2}]

    assert run("stop", "gusty").stdout == "main no longer answers gusty\n"
    assert not Topology.objects.get().deployed.exists()
    again = run("stop", "gusty")
    assert (again.returncode, again.stderr) == (1, "millrace: no topology answers gusty\n")


def test_mistakes_are_named_like_a_compilers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT w.wnd\nFROM weather AS w")
    for command in (("check",), ("deploy",), ("preview",)):
        done = run(*command, "q.sql")
        assert done.returncode == 2
        assert done.stderr == (
            "q.sql:1:8: found column w.wnd, expected a column of weather; did you mean w.wind?\n"
        )
    assert not QueryRecord.objects.exists()
    (tmp_path / "q.sql").write_text("SELECT w.wind FROM weather AS w")
    assert run("check", "q.sql").stdout == "q.sql: valid\n"


def test_tuples_are_sent_and_a_query_is_previewed(run: Run, tmp_path: Path) -> None:
    rows = '{"at": "2013-01-01", "wind": 3}\n{"at": "2013-01-02", "wind": null}\n'
    assert run("send", "weather", text=rows).stdout == "2 tuples sent to weather\n"
    bad = run("send", "weather", text='{"at": "today"}')
    assert (bad.returncode, "at: found" in bad.stderr) == (2, True)
    listed = run("streams").stdout.splitlines()
    assert listed[3].split()[:3] == ["weather", "2", "0"]
    assert "at timestamp (event time)" in listed[3]
    (tmp_path / "q.sql").write_text("SELECT w.wind, w.at FROM weather AS w")
    shown = run("preview", "q.sql").stdout.splitlines()
    assert [line.split() for line in shown[:3]] == [
        ["wind", "at"],
        ["2013-01-02T00:00:00Z"],
        ["3.0", "2013-01-01T00:00:00Z"],
    ]
    assert shown[3] == "read weather: all 2 tuples, 2013-01-01T00:00:00Z to 2013-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("words", "changed", "code", "said"),
    [
        (("status",), {"MILLRACE_TOKEN": ""}, 1, "MILLRACE_TOKEN is not set: make a token on http"),
        (("status",), {"MILLRACE_TOKEN": "millrace_guess"}, 1, "is MILLRACE_TOKEN right"),
        (("status",), {"MILLRACE_URL": "localhost"}, 1, "expected an address such as http://localhost:8000"),
        (("tail", "nobody"), {}, 1, "there is no query nobody; there is none yet"),
        (("deploy", "missing.sql"), {}, 1, "missing.sql"),
        (("stop", "--topology", "main"), {}, 1, "No Topology matches"),
        (("send", "weather", "--loudly"), {}, 2, "unrecognized arguments: --loudly; see"),
        (("stop",), {}, 2, "one of the arguments query --topology is required"),
        ((), {}, 2, "required: COMMAND"),
    ],
)
def test_errors_are_one_line(
    run: Run, words: tuple[str, ...], changed: dict[str, str], code: int, said: str
) -> None:
    done = run(*words, **changed)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_only_operators_stop_topologies(run: Run, millrace: Millrace, query: QueryRecord) -> None:
    millrace.deploy("windy", topology="flights")
    refused = run("stop", "--topology", "flights")
    assert (refused.returncode, "only operators" in refused.stderr) == (1, True)


def test_from_python(millrace: Millrace, query: QueryRecord, bus: redis.Redis) -> None:
    deployment = millrace.deploy("windy", topology="flights")
    assert not millrace.wait(deployment, 0)
    revisions.plan_newest(Topology.objects.get().pk)
    Topology.objects.update(failed_revision=deployment.revision, deployment_error="no such store")
    with pytest.raises(ClientError, match="no such store"):
        millrace.wait(deployment, 5)
    key = results_key("flights", "windy")
    bus.xadd(key, {"json": '{"wind": 1}', "batch": "0"})
    tail = millrace.tail("windy")
    assert next(tail).row == {"wind": 1}
    for wind in (2, 3):
        bus.xadd(key, {"json": json.dumps({"wind": wind}), "batch": "1"})
    assert [(one.batch, one.row["wind"]) for one in islice(tail, 2)] == [(1, 2), (1, 3)]
    with pytest.raises(Refused) as refused:
        millrace.save("windy", "SELECT")
    assert refused.value.is_input
    with pytest.raises(Unreachable, match="does not answer"):
        Millrace(f"http://127.0.0.1:{free_port()}", "millrace_x").streams()


def test_the_client_needs_nothing_but_python() -> None:
    # -S leaves site-packages out.
    code = "import backend.client.__main__ as millrace; millrace.main(['--help'])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "MILLRACE_TOKEN" in done.stdout
