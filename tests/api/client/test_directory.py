"""Queries in git, against a real server: import, plan and apply as a stranger would use them."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.test import Client

from backend.applied.models import AppliedQuery
from backend.catalog.actions import add_version, create_query
from backend.catalog.models import Query
from backend.client import Millrace
from backend.client.directory import read_directory
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.run.setting import free_port
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from backend.topologies.models import Topology, TopologyQuery
from backend.workloads import applying
from tests.api.conftest import THREE_WAY, TWO_WAY, Run

GUSTS = "SELECT w.origin, w.wind, w.at FROM weather AS w WHERE w.wind > 20\n"
LATE_IN_GUSTS = """SELECT d.flight, g.wind FROM departures [RANGE 1 HOUR] AS d, gusts [RANGE 1 HOUR] AS g
WHERE d.origin = g.origin
"""


NO_TIME = "streams:\n  s:\n    event_time: at\n    columns: {a: int}\n"


@pytest.fixture
def deployed(query: Query, owner: User) -> Topology:
    """Three queries that run, one of them through a view that is not deployed."""
    deploy_query(owner, query, "flights")
    create_query(owner, "gusts", GUSTS)
    late = create_query(owner, "late_in_gusts", LATE_IN_GUSTS, "Late\nin gusts: 'quoted'", ["b", "a"])
    deploy_query(owner, late, "flights")
    topology = Topology.objects.get(name="flights")
    assert revisions.plan_newest(topology.pk)
    return Topology.objects.get(pk=topology.pk)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml").replace("_sql", ".sql")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_what_runs_comes_back_without_a_change(run: Run, tmp_path: Path, deployed: Topology) -> None:
    Stream.objects.filter(name="weather").update(
        description="Every hour:\n- wind\n- rain", lateness_ms=90_000, late="join", tuples_per_second=0.01
    )
    imported = run("import", "repo")
    assert imported.returncode == 0, imported.stderr
    assert sorted(p.name for p in (tmp_path / "repo/queries").iterdir()) == [
        "gusts.sql",
        "gusts.yaml",
        "late_in_gusts.sql",
        "late_in_gusts.yaml",
        "windy.sql",
        "windy.yaml",
    ]
    assert (tmp_path / "repo/queries/windy.sql").read_text() == THREE_WAY
    assert (tmp_path / "repo/queries/gusts.yaml").read_text() == "deploy: false\n"
    planned = run("plan", "repo")
    assert (planned.returncode, planned.stdout) == (0, "repo: no change\n"), planned.stderr
    again = run("import", "repo")
    assert again.returncode == 2
    assert "found a file, expected none; import into a fresh directory" in again.stderr
    # Nothing to do is nothing that is planned anew; it is what was applied from now on.
    revision = Topology.objects.get().revision
    assert run("apply", "repo", "--wait", "0").stdout == "repo: no change\n"
    assert Topology.objects.get().revision == revision
    assert set(AppliedQuery.objects.values_list("query__name", flat=True)) == {
        "gusts",
        "late_in_gusts",
        "windy",
    }


def test_an_edit_is_planned_applied_and_then_no_change(run: Run, tmp_path: Path, deployed: Topology) -> None:
    run("import", "repo")
    repo = tmp_path / "repo"
    write(
        repo,
        queries__windy_sql=THREE_WAY.replace("> 20", "> 30"),
        queries__gusts_sql=GUSTS.replace("> 20", "> 25"),
        queries__gusty_sql=TWO_WAY,
        queries__gusty_yaml="topology: flights\ntags: [wind]\n",
    )
    planned = run("plan", "repo")
    assert planned.returncode == 3, planned.stderr
    text = planned.stdout
    assert text.startswith("repo: 1 query to create, 3 queries to change\n")
    assert "-WHERE d.origin = w.origin AND d.tail = a.tail AND w.wind > 20" in text
    assert "+WHERE d.origin = w.origin AND d.tail = a.tail AND w.wind > 30" in text
    assert "~ query late_in_gusts: reads gusts anew" in text
    assert "+ query gusty: is created, goes to flights" in text
    assert "topology flights: 2 -> 3 queries" in text
    assert "gusty (ann) pays" in text
    document = json.loads(run("plan", "repo", "--json").stdout)
    (topology,) = document["topologies"]
    for side in ("before", "after"):
        parts = [one[f"cores_{side}"] or 0.0 for one in topology["shares"]]
        assert sum(parts) == pytest.approx(topology[side]["cores"])
        assert topology[side]["gb"] > 0
        assert topology[side]["latency_ms"] > 0
    markdown = run("plan", "repo", "--markdown").stdout
    assert "### Millrace plan of repo: 1 query to create, 3 queries to change" in markdown
    assert "| flights | 2 -> 3 queries |" in markdown
    assert "```diff\n--- queries/windy.sql" in markdown
    # Nothing was written.
    assert Query.objects.count() == 3
    assert deployed.revision == Topology.objects.get().revision

    applied = run("apply", "repo", "--wait", "0")
    assert applied.returncode == 0, applied.stderr
    assert "flights answers windy v2" in applied.stdout
    assert "query late_in_gusts has v2" in applied.stdout
    late = TopologyQuery.objects.get(query__name="late_in_gusts").version
    assert late.number == 2
    assert [(view.query.name, view.number) for view in late.reads.all()] == [("gusts", 2)]
    assert run("plan", "repo").returncode == 0
    assert run("apply", "repo", "--wait", "0").stdout == "repo: no change\n"


def test_a_server_that_knows_nothing_is_filled_from_a_directory(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path / "repo",
        streams_yaml="streams:\n  trains: {event_time: at, lateness: 5 s, columns: {at: timestamp, n: int}}\n"
        "  stops: {event_time: at, columns: {at: timestamp, n: int}}\n",
        queries__stopped_sql="SELECT t.n FROM trains [RANGE 1 MINUTE] AS t, stops [RANGE 1 MINUTE] AS s "
        "WHERE t.n = s.n",
    )
    planned = run("plan", "repo")
    assert planned.returncode == 3, planned.stderr
    assert "+ stream trains" in planned.stdout
    assert "complete from the first tuple" in planned.stdout
    applied = run("apply", "repo", "--wait", "0")
    assert applied.returncode == 0, applied.stderr
    assert applied.stdout.splitlines()[:2] == ["stream stops is registered", "stream trains is registered"]
    assert Stream.objects.get(name="trains").lateness_ms == 5000
    assert run("plan", "repo").returncode == 0


def test_prune_deletes_only_what_came_from_the_directory(
    run: Run, tmp_path: Path, deployed: Topology, owner: User
) -> None:
    repo = tmp_path / "repo"
    write(
        repo,
        queries__a_sql=TWO_WAY,
        queries__b_sql=TWO_WAY.replace("w.wind", "w.at"),
        millrace_yaml="name: own\n",
    )
    run("apply", "repo", "--wait", "0")
    (repo / "queries/a.sql").unlink()
    planned = run("plan", "repo")
    assert planned.returncode == 0
    assert "no longer in the directory, and left as it is: query a (--prune deletes it)" in planned.stdout
    assert run("plan", "repo", "--prune").returncode == 3
    applied = run("apply", "repo", "--prune", "--wait", "0")
    assert applied.stdout.splitlines() == ["flights no longer answers a", "query a is deleted"]
    assert set(Query.objects.values_list("name", flat=True)) == {"b", "gusts", "late_in_gusts", "windy"}
    # Under another name the directory has nothing to prune.
    (repo / "millrace.yaml").write_text("name: another\n")
    (repo / "queries/b.sql").unlink()
    write(repo, queries__c_sql=TWO_WAY)
    assert "deleted" not in run("apply", "repo", "--prune", "--wait", "0").stdout


def test_drift_is_told(
    run: Run, tmp_path: Path, deployed: Topology, owner: User, millrace: Millrace, as_owner: Client
) -> None:
    run("import", "repo")
    run("apply", "repo", "--wait", "0")
    record = Query.objects.get(name="windy")
    add_version(owner, record, THREE_WAY.replace("> 20", "> 99"))
    deploy_query(owner, Query.objects.get(name="windy"))
    Stream.objects.filter(name="weather").update(lateness_ms=1000)
    planned = run("plan", "repo")
    assert planned.returncode == 3
    assert "drift: query windy: v2 is deployed; v1 was applied" in planned.stdout
    # The pages tell it too.
    shown = as_owner.get(f"/api/queries/{record.pk}/").json()["applied"]
    assert (shown["directory"], shown["by"]) == ("repo", "ann")
    assert shown["drift"] == ["v2 is deployed; v1 was applied"]
    (topology,) = as_owner.get("/api/topologies/").json()
    told = {one["name"]: one["applied"]["drift"] for one in topology["queries"]}
    assert told == {"windy": shown["drift"], "late_in_gusts": []}
    assert "drift: stream weather: lateness_ms was changed" in planned.stdout
    applied = run("apply", "repo", "--wait", "0")
    assert applied.returncode == 0, applied.stderr
    assert run("plan", "repo").stdout == "repo: no change\n"
    assert TopologyQuery.objects.get(query=record).version.sql == THREE_WAY


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"queries__q_sql": "SELECT w.wnd\nFROM weather AS w"}, "queries/q.sql:1:8: found column w.wnd"),
        ({"queries__q_sql": TWO_WAY, "queries__q_yaml": "tags: a"}, "q.yaml:1:7: tags: found no list"),
        ({"queries__q_sql": TWO_WAY, "queries__q_yaml": "topologie: x\n"}, "did you mean topology?"),
        ({"queries__q_yaml": "tags: []\n"}, "queries/q.yaml: found settings of no query"),
        ({"queries__Q_sql": TWO_WAY}, "queries/Q.sql: found the name Q, expected lower-case letters"),
        ({"queries__weather_sql": TWO_WAY}, "queries/weather.sql: found the name of a stream"),
        ({"queries__q_sql": TWO_WAY, "streams_yaml": "streams: [\n"}, "streams.yaml:2:1: found"),
        (
            {"queries__q_sql": TWO_WAY, "streams_yaml": NO_TIME},
            "streams.yaml:3:17: streams.s.event_time: found column at",
        ),
        ({"queries__a_sql": "SELECT b.x FROM b", "queries__b_sql": "SELECT a.x FROM a"}, "a reads b reads a"),
        ({"streams_yaml": "streams: {}\n"}, "streams.yaml:1:10: streams: found no stream"),
        ({}, "found no directory, expected one with queries/NAME.sql"),
        ({"queries__q_sql": TWO_WAY, "millrace_yaml": "nam: e\n"}, "millrace.yaml:1: found no name"),
    ],
)  # fmt: skip
def test_nonsense_is_named_by_file_line_and_what_was_expected(
    run: Run, tmp_path: Path, files: dict[str, str], said: str
) -> None:
    write(tmp_path / "repo", **files)
    for command in ("plan", "apply"):
        done = run(command, "repo")
        assert done.returncode == 2, (done.stdout, done.stderr)
        assert said in done.stderr
        assert done.stdout == ""
    assert not Query.objects.exists()


def test_everything_wrong_is_told_at_once(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path / "repo",
        queries__a_sql="SELECT w.x FROM weather AS w",
        queries__b_sql="SELECT",
        queries__b_yaml="x: 1",
    )
    lines = run("plan", "repo").stderr.splitlines()
    told = dict.fromkeys(line.partition(":")[0] for line in lines)
    assert list(told) == ["queries/b.yaml", "queries/a.sql", "queries/b.sql"]


def test_bytes_that_are_no_text_are_refused(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "repo", queries__a_sql="")
    (tmp_path / "repo/queries/a.sql").write_bytes(b"SELECT \xff")
    done = run("plan", "repo")
    assert done.returncode == 2
    assert "repo/queries/a.sql: found byte 0xff at offset 7, expected UTF-8 text" in done.stderr


def test_an_account_without_rights_changes_nothing(
    run: Run, tmp_path: Path, deployed: Topology, outsider: User, viewer: User
) -> None:
    run("import", "repo")
    write(tmp_path / "repo", queries__windy_sql=TWO_WAY, queries__new_sql=TWO_WAY)
    for account, said in (
        (outsider, "ann owns windy"),
        (viewer, "vic is a viewer and may not write queries"),
    ):
        token = create_token(account, "ci")[1]
        planned = run("plan", "repo", MILLRACE_TOKEN=token)
        assert planned.returncode == 1
        assert f"refused: {said}" in planned.stdout
        applied = run("apply", "repo", MILLRACE_TOKEN=token)
        assert applied.returncode == 1
        assert said in applied.stderr
    assert run("plan", "repo", MILLRACE_TOKEN="millrace_guess").returncode == 1
    assert not Query.objects.filter(name="new").exists()
    assert Query.objects.get(name="windy").versions.count() == 1


def test_an_apply_that_is_ended_in_the_middle_did_nothing(
    run: Run, tmp_path: Path, deployed: Topology
) -> None:
    run("import", "repo")
    write(tmp_path / "repo", queries__windy_sql=TWO_WAY, queries__new_sql=TWO_WAY)
    revision = Topology.objects.get().revision

    def end(*_: object) -> None:
        raise SystemExit("the server is stopped")

    with patch.object(applying, "_remember", side_effect=end):
        done = run("apply", "repo")
    assert done.returncode == 1
    assert "everything was applied or nothing" in done.stderr or "the server answered 500" in done.stderr
    assert not Query.objects.filter(name="new").exists()
    assert Query.objects.get(name="windy").versions.count() == 1
    assert Topology.objects.get().revision == revision
    away = run("apply", "repo", MILLRACE_URL=f"http://127.0.0.1:{free_port()}")
    assert away.returncode == 1
    assert "does not answer" in away.stderr
    assert run("apply", "repo", "--wait", "0").returncode == 0
    assert Query.objects.filter(name="new").exists()


def test_what_changed_meanwhile_is_not_overwritten(
    millrace: Millrace, tmp_path: Path, deployed: Topology, owner: User, run: Run
) -> None:
    run("import", "repo")
    write(tmp_path / "repo", queries__windy_sql=TWO_WAY)
    real = applying.judged

    def meanwhile(*given: object) -> object:
        found = real(*given)  # type: ignore[arg-type]
        add_version(owner, Query.objects.get(name="windy"), THREE_WAY + " ")
        return found

    with patch.object(applying, "judged", side_effect=meanwhile):
        done = run("apply", "repo")
    assert done.returncode == 1
    assert "somebody changed what this would change" in done.stderr
    assert [v.number for v in Query.objects.get(name="windy").versions.all()] == [2, 1]
    assert read_directory(tmp_path / "repo").name == "repo"


def test_a_query_moves_and_a_view_leaves(run: Run, tmp_path: Path, deployed: Topology) -> None:
    run("import", "repo")
    write(
        tmp_path / "repo",
        queries__windy_yaml="topology: storms\n",
        queries__late_in_gusts_yaml="deploy: false\n",
    )
    planned = run("plan", "repo")
    assert "moves from flights to storms" in planned.stdout
    assert "leaves flights" in planned.stdout
    applied = run("apply", "repo", "--wait", "0")
    assert applied.returncode == 0, applied.stderr
    assert {one.query.name: one.topology.name for one in TopologyQuery.objects.all()} == {"windy": "storms"}
    assert run("plan", "repo").returncode == 0


def test_more_than_one_may_have_is_refused_as_a_whole(
    run: Run, tmp_path: Path, deployed: Topology, settings: object
) -> None:
    settings.MILLRACE_QUOTA_QUERIES = 4  # type: ignore[attr-defined]
    write(tmp_path / "repo", **{f"queries__q{number}_sql": TWO_WAY for number in range(3)})
    planned = run("plan", "repo")
    assert planned.returncode == 1
    assert "refused: ann has 3 of 4 queries; the directory has 3 more" in planned.stdout
    assert run("apply", "repo").returncode == 1
    assert Query.objects.count() == 3
