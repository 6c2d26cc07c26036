"""How a topology's job works: the same settings as of the command, from its next start on."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from backend.runs import process
from backend.topologies.job_settings import SERVERS, JobSettings
from backend.topologies.models import Run, Topology
from jobs.__main__ import _parser
from optimizer.algebra.settings import schema

URL = "/api/topologies/flights/job/"
OTHER = JobSettings(
    trigger_ms=150,
    batch_rows=5000,
    idle_timeout_s=2.5,
    epoch_batches=40,
    results_topic="t.{query}",
    results_topic_queries="late_*",
    results_table="s.{query}",
    results_table_queries="a,b",
    results_iceberg="n.{query}",
    results_iceberg_queries="c",
    results_webhook="https://example.org/hook",
    results_webhook_per="result",
    results_webhook_queries="d",
)
"""Of every setting a value that is not its default."""


@pytest.fixture(autouse=True)
def servers(settings: Any) -> None:
    settings.MILLRACE_RESULT_SERVERS = tuple(SERVERS.values())


def ask(client: Client, **settings: Any) -> Any:
    return client.put(URL, {"settings": settings}, content_type="application/json")


def test_settings_are_options_of_the_command_with_its_defaults() -> None:
    needed = ["run", "--topology", "t", "--run", "r", "--redis", "u", "--checkpoint", "c"]
    usual = vars(_parser("run").parse_args(needed))
    assert vars(_parser("run").parse_args([*needed, *JobSettings().arguments])) == usual
    changed = vars(_parser("run").parse_args([*needed, *OTHER.arguments]))
    differing = {name: value for name, value in changed.items() if value != usual[name]}
    expected = {
        **{"trigger_ms": 150, "batch_rows": 5000, "idle_timeout": 2_500_000, "epoch_batches": 40},
        **{"results_topic": "t.{query}", "results_table": "s.{query}", "results_iceberg": "n.{query}"},
        **{"results_topic_queries": "late_*", "results_table_queries": "a,b", "results_iceberg_queries": "c"},
        **{"results_webhook": "https://example.org/hook", "results_webhook_queries": "d"},
        "results_webhook_per": "result",
    }
    assert differing == expected
    assert len(expected) == len(fields(JobSettings))


def test_what_a_request_carries_goes_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_RESULTS_WEBHOOK_PER", "result")
    needed = ["run", "--topology", "t", "--run", "r", "--redis", "u", "--checkpoint", "c"]

    def carried(settings: JobSettings) -> str:
        given: str = _parser("run").parse_args([*needed, *settings.arguments]).results_webhook_per
        return given

    assert carried(JobSettings()) == "result"
    assert carried(JobSettings(results_webhook="https://example.org/hook")) == "batch"


def test_a_process_is_launched_with_what_was_set(
    as_operator: Client, topology: Topology, settings: Any, tmp_path: Path
) -> None:
    settings.MILLRACE_HOME = str(tmp_path)
    settings.MILLRACE_JOB_COMMAND = [sys.executable, "-c", "import sys; print(' '.join(sys.argv))"]
    assert ask(as_operator, **OTHER.document()).status_code == 200
    topology.refresh_from_db()
    assert topology.plan is not None
    run = Run.objects.create(topology=topology, plan=topology.plan, job=topology.job)
    process.launch(run, topology.plan)
    log = process.log_file(run)
    for _ in range(2000):
        if "--batch-rows 5000" in log.read_text():
            break
        process.is_alive(run)
    assert " ".join(OTHER.arguments) in log.read_text()


def test_what_runs_has_what_it_was_launched_with(as_operator: Client, topology: Topology) -> None:
    document = as_operator.get(URL).json()
    assert document == {
        "settings": topology.job_settings.document(),
        "running": None,
        "applied": None,
        "described": schema(JobSettings),
    }
    run = Run.objects.create(topology=topology, state="running", job=topology.job)
    Topology.objects.update(current_run=run)
    document = ask(as_operator, **OTHER.document()).json()
    assert document["settings"] == OTHER.document()
    assert document["running"] == replace(JobSettings(), **topology.job).document()
    trail = as_operator.get("/api/topologies/flights/audit/").json()
    assert trail[0]["action"] == "job settings"
    assert "batch_rows: 5000" in trail[0]["detail"]


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"trigger_ms": 1}, "1 instead of a whole number from 10 to 600000"),
        ({"batch_rows": 10**9}, "1000000000 instead of a whole number from 100 to"),
        ({"idle_timeout_s": 0}, "0 instead of a number"),
        ({"epoch_batches": 2.5}, "2.5 instead of a whole number"),
        ({"results_table_queries": " , "}, "instead of names of queries, comma-separated"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    as_operator: Client, topology: Topology, chosen: dict[str, Any], told: str
) -> None:
    answer = ask(as_operator, **chosen)
    assert answer.status_code == 400
    assert told in answer.content.decode()
    assert Topology.objects.get().job == topology.job


def test_only_operators_set_it(as_owner: Client, topology: Topology) -> None:
    assert ask(as_owner, trigger_ms=200).status_code == 403
    assert Topology.objects.get().job == topology.job


def test_results_go_to_servers_that_there_are(as_operator: Client, topology: Topology, settings: Any) -> None:
    settings.MILLRACE_RESULT_SERVERS = ("MILLRACE_ICEBERG_CATALOG",)
    assert ask(as_operator, results_iceberg="n.{query}").status_code == 200
    refused = ask(as_operator, results_table="public.{query}")
    assert refused.status_code == 409
    assert "MILLRACE_POSTGRES_RESULTS_URL" in refused.json()["detail"]
    settings.MILLRACE_RESULT_SERVERS = ("MILLRACE_ICEBERG_CATALOG", "MILLRACE_RESULTS_WEBHOOK_SECRET")
    settings.MILLRACE_WEBHOOK_HOSTS = ["*.example.org"]
    assert ask(as_operator, results_webhook="https://hooks.example.org/a").status_code == 200
    refused = ask(as_operator, results_webhook="https://elsewhere.test/a")
    assert refused.status_code == 409
    assert "MILLRACE_WEBHOOK_HOSTS" in refused.json()["detail"]
    assert "a name with {query} once" in str(ask(as_operator, results_iceberg="n.all").json())
