"""How jobs work and where results go, in git: topologies/NAME.yaml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from backend.applied.models import AppliedJob
from backend.audit.models import AuditEntry
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.deployments.job_settings import set_job
from backend.tokens.actions import create_token
from backend.topologies.job_settings import SERVERS, JobSettings
from backend.topologies.models import Topology
from tests.api.conftest import TWO_WAY, Run

HOOK = "https://example.org/hook/s3cret"
SINKS = """# Results of the wind go to the warehouse.
trigger_ms: 200
idle_timeout_s: 2.5
results_table: live.{query}
results_table_queries: wind*
"""


@pytest.fixture
def deployed(query: Query, owner: User) -> Topology:
    deploy_query(owner, query, "flights")
    return Topology.objects.get(name="flights")


@pytest.fixture
def operators_token(operator: User) -> str:
    return create_token(operator, "ci")[1]


@pytest.fixture(autouse=True)
def servers(settings: Any) -> None:
    settings.MILLRACE_RESULT_SERVERS = tuple(SERVERS.values())
    settings.MILLRACE_WEBHOOK_HOSTS = ("example.org",)


def say(folder: Path, text: str, topology: str = "flights") -> None:
    file = folder / f"topologies/{topology}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_sinks_are_planned_and_applied_like_queries(
    run: Run, tmp_path: Path, deployed: Topology, operators_token: str, as_operator: Client, operator: User
) -> None:
    assert run("import", "repo").returncode == 0
    assert not (tmp_path / "repo/topologies").exists()
    say(tmp_path / "repo", SINKS)
    planned = run("plan", "repo", MILLRACE_TOKEN=operators_token)
    assert planned.returncode == 3, planned.stderr
    assert planned.stdout == (
        "repo: 1 job to change\n"
        "\n"
        "~ job of flights, from its next start on\n"
        "    trigger_ms: 500 -> 200\n"
        "    idle_timeout_s: 30.0 -> 2.5\n"
        "    results_table: nothing -> live.{query}\n"
        "    results_table_queries: * -> wind*\n"
    )
    markdown = run("plan", "repo", "--markdown", MILLRACE_TOKEN=operators_token).stdout
    assert "**~ job of flights**, from its next start on\n\n- trigger_ms: `500` → `200`\n" in markdown
    assert Topology.objects.get().job == deployed.job
    applied = run("apply", "repo", "--wait", "0", MILLRACE_TOKEN=operators_token)
    assert applied.stdout == (
        "job of flights is set, from its next start on: "
        "trigger_ms, idle_timeout_s, results_table, results_table_queries\n"
    )
    chosen = {
        "trigger_ms": 200,
        "idle_timeout_s": 2.5,
        "results_table": "live.{query}",
        "results_table_queries": "wind*",
    }
    assert Topology.objects.get().job == chosen
    entry = AuditEntry.objects.filter(verb="job settings").latest("at")
    assert (entry.account_name, entry.through) == ("olga", "directory")
    # Whoever may read the settings, and not set them, finds no change either.
    assert run("plan", "repo").stdout == "repo: no change\n"
    assert run("apply", "repo", "--wait", "0", MILLRACE_TOKEN=operators_token).stdout == "repo: no change\n"
    # And it all comes back.
    again = run("import", "again", MILLRACE_TOKEN=operators_token)
    assert "again/topologies/flights.yaml" in again.stdout, again.stderr
    assert run("plan", "again", MILLRACE_TOKEN=operators_token).stdout == "again: no change\n"


def test_what_a_file_does_not_say_stays_and_what_it_empties_is_the_default(
    run: Run, tmp_path: Path, deployed: Topology, operators_token: str, operator: User
) -> None:
    set_job(operator, deployed, JobSettings(trigger_ms=150, batch_rows=5000, results_table="a.{query}"))
    run("import", "repo")
    say(tmp_path / "repo", "results_table:\nbatch_rows: 6000\n")
    assert run("apply", "repo", "--wait", "0", MILLRACE_TOKEN=operators_token).returncode == 0
    assert Topology.objects.get().job == {"trigger_ms": 150, "batch_rows": 6000}


def test_a_new_topology_starts_with_its_sinks(
    run: Run, tmp_path: Path, streams: object, operators_token: str
) -> None:
    (tmp_path / "repo/queries").mkdir(parents=True)
    (tmp_path / "repo/queries/gusty.sql").write_text(TWO_WAY)
    (tmp_path / "repo/queries/gusty.yaml").write_text("topology: storms\n")
    say(tmp_path / "repo", "results_iceberg: lake.{query}\n", "storms")
    applied = run("apply", "repo", "--wait", "0", MILLRACE_TOKEN=operators_token)
    assert applied.returncode == 0, applied.stderr
    assert Topology.objects.get(name="storms").job == {"results_iceberg": "lake.{query}"}
    say(tmp_path / "repo", "trigger_ms: 100\n", "strms")
    refused = run("plan", "repo", MILLRACE_TOKEN=operators_token)
    assert refused.returncode == 1
    assert "topologies/strms.yaml: there is no such topology, and no query here goes to it" in refused.stdout


def test_drift_of_a_job_is_told_and_undone(
    run: Run, tmp_path: Path, deployed: Topology, operators_token: str, operator: User, as_operator: Client
) -> None:
    run("import", "repo")
    say(tmp_path / "repo", SINKS)
    run("apply", "repo", "--wait", "0", MILLRACE_TOKEN=operators_token)
    set_job(operator, Topology.objects.get(), JobSettings(results_table="mine.{query}", batch_rows=1000))
    planned = run("plan", "repo", MILLRACE_TOKEN=operators_token)
    assert "drift: job of flights: results_table was changed" in planned.stdout
    assert "batch_rows" not in planned.stdout
    shown = as_operator.get("/api/topologies/flights/job/").json()["applied"]
    assert (shown["directory"], shown["by"]) == ("repo", "olga")
    assert shown["drift"][0] == "trigger_ms was changed"
    run("apply", "repo", "--wait", "0", MILLRACE_TOKEN=operators_token)
    assert Topology.objects.get().job["results_table"] == "live.{query}"
    assert as_operator.get("/api/topologies/flights/job/").json()["applied"]["drift"] == []
    # A directory that no longer speaks of it leaves it as it is, and nothing drifts.
    (tmp_path / "repo/topologies/flights.yaml").unlink()
    assert run("apply", "repo", "--wait", "0", MILLRACE_TOKEN=operators_token).stdout == "repo: no change\n"
    assert not AppliedJob.objects.exists()
    assert Topology.objects.get().job["results_table"] == "live.{query}"


def test_addresses_of_webhooks_are_told_to_nobody(
    run: Run, tmp_path: Path, deployed: Topology, operators_token: str, operator: User
) -> None:
    set_job(operator, deployed, JobSettings(trigger_ms=150, results_webhook=HOOK))
    run("import", "repo", MILLRACE_TOKEN=operators_token)
    assert (tmp_path / "repo/topologies/flights.yaml").read_text() == "trigger_ms: 150\n"
    say(tmp_path / "repo", f"results_webhook: {HOOK}/other\n")
    planned = run("plan", "repo", "--json", MILLRACE_TOKEN=operators_token)
    assert "s3cret" not in planned.stdout
    (job,) = json.loads(planned.stdout)["jobs"]
    # Both begin alike: that it changes is told all the same.
    told = {
        "field": "results_webhook",
        "before": "https://example.org/...",
        "after": "https://example.org/...",
    }
    assert job["differences"] == [told]
    assert job["action"] == "change"


def test_only_operators_apply_it_and_only_what_the_deployment_can(
    run: Run, tmp_path: Path, deployed: Topology, operators_token: str, settings: Any
) -> None:
    settings.MILLRACE_RESULT_SERVERS = ("MILLRACE_ICEBERG_CATALOG",)
    run("import", "repo")
    say(tmp_path / "repo", SINKS)
    for token, said in (
        ({}, "only operators set how the job of flights works"),
        ({"MILLRACE_TOKEN": operators_token}, "results_table: this deployment is not set up for it"),
    ):
        planned = run("plan", "repo", **token)
        assert planned.returncode == 1
        assert said in planned.stdout
        applied = run("apply", "repo", **token)
        assert applied.returncode == 1
        assert said in applied.stderr
    assert Topology.objects.get().job == deployed.job


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trigger_ms: fast\n", "flights.yaml:1:13: trigger_ms: found 'fast', expected a whole number"),
        ("results_tables: a\n", "flights.yaml:1:1: results_tables: found key results_tables, expected"),
        ("- a\n", "flights.yaml:1:1: found a list, expected key: value entries"),
        ("results_table: [a]\n", "flights.yaml:1:16: results_table: found a list, expected one value"),
        ("results_table: a\n", "flights.yaml:1:16: results_table: found 'a', expected a name with"),
        ("a: [\n", "topologies/flights.yaml:2:1: found"),
    ],
)  # fmt: skip
def test_nonsense_is_named_by_line(
    run: Run, tmp_path: Path, deployed: Topology, text: str, said: str
) -> None:
    run("import", "repo")
    say(tmp_path / "repo", text)
    done = run("plan", "repo")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
