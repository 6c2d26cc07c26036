"""How much of a topology's state may be in memory: who says so, and what its job hears of it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import psutil
import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from backend.audit.models import AuditEntry
from backend.deployments import memory_limit
from backend.runs import supervision
from backend.topologies.models import Topology
from jobs.cli import options
from jobs.storage import memory_budget as residence
from optimizer.algebra.settings import size
from tests.api.runs.conftest import PATIENCE_S, Supervised

pytestmark = pytest.mark.django_db
URL = "/api/topologies/flights/memory/"
LIMIT = 256 << 20


def limit(client: Client, value: object) -> Any:
    return client.put(URL, {"memory_limit_bytes": value}, content_type="application/json")


def shown(client: Client) -> tuple[int | None, int | None]:
    """The topology's limit, and the one that its newest run was launched with."""
    document = client.get("/api/topologies/flights/").json()
    return document["memory_limit_bytes"], document["run"] and document["run"]["memory_limit_bytes"]


def test_what_an_operator_sets_is_shown_and_audited_once(as_operator: Client, topology: Topology) -> None:
    assert shown(as_operator) == (None, None)
    for _ in range(2):
        answer = limit(as_operator, LIMIT)
        assert (answer.status_code, answer.json()["memory_limit_bytes"]) == (200, LIMIT), answer.content
    assert limit(as_operator, None).status_code == 200
    assert shown(as_operator) == (None, None)
    trail = AuditEntry.objects.filter(verb="memory limit").order_by("pk")
    assert list(trail.values_list("account__username", "detail")) == [
        ("olga", f"{LIMIT} bytes"),
        ("olga", "none"),
    ]


@pytest.mark.parametrize(
    "wrong",
    [0, -1, memory_limit.SMALLEST_BYTES - 1, memory_limit.LARGEST_BYTES + 1, 10**30],
    ids="{:.3g}".format,
)
def test_what_no_job_could_heed_is_refused(as_operator: Client, topology: Topology, wrong: int) -> None:
    answer = limit(as_operator, wrong)
    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["code"]) == (400, "bad-memory-limit")
    assert (problem["path"], problem["found"]) == ("memory_limit_bytes", str(wrong))
    assert f"from {memory_limit.SMALLEST_BYTES} to {memory_limit.LARGEST_BYTES}" in problem["expected"]
    assert shown(as_operator) == (None, None)


@pytest.mark.parametrize("wrong", ["much", "256MiB", 1.5, True, [], {}])
def test_what_is_no_number_of_bytes_is_refused(
    as_operator: Client, topology: Topology, wrong: object
) -> None:
    answer = limit(as_operator, wrong)
    assert answer.status_code == 400
    assert list(answer.json()) == ["memory_limit_bytes"]
    assert as_operator.put(URL, {}, content_type="application/json").status_code == 400
    assert shown(as_operator) == (None, None)


def test_only_operators_say_it(as_owner: Client, anonymous: Client, topology: Topology) -> None:
    answer = limit(as_owner, LIMIT)
    assert (answer.status_code, answer.json()["code"]) == (403, "operators-only")
    assert limit(anonymous, LIMIT).status_code == 403
    assert shown(as_owner) == (None, None)


def test_a_job_can_be_started_with_every_limit_that_is_taken() -> None:
    most_partitions = options.tasks("256")
    assert residence.share(memory_limit.SMALLEST_BYTES, most_partitions) == residence.SMALLEST_SHARE_BYTES
    for taken in (memory_limit.SMALLEST_BYTES, memory_limit.LARGEST_BYTES):
        assert size(str(taken)) == taken


def test_a_job_hears_it_when_it_is_launched_and_not_before(
    supervised: Supervised, as_operator: Client, post: Callable[..., Any]
) -> None:
    supervised.look()
    supervised.hear("job_started", "batch")
    supervised.look(1)
    first = supervised.run
    assert "--memory-limit" not in command_of(first.pid)
    assert limit(as_operator, LIMIT).status_code == 200
    supervised.look(1)
    assert supervised.run.pk == first.pk
    assert shown(as_operator) == (LIMIT, None)

    assert post(as_operator, "/api/topologies/flights/restart/").status_code == 202
    supervision.request_stop(first.pk, supervised.now)
    supervised.hear("job_stopped")
    supervised.look(1)
    second = supervised.run
    assert second.pk > first.pk
    command = command_of(second.pid)
    assert command[command.index("--memory-limit") + 1] == str(LIMIT)
    assert shown(as_operator) == (LIMIT, LIMIT)
    supervised.hear("batch")
    supervised.look(1)
    batch = as_operator.get("/api/topologies/flights/snapshot/").json()["batch"]
    assert (batch["run"], batch["resident_bytes"]) == (second.pk, LIMIT // 2)
    families = text_string_to_metric_families(as_operator.get("/metrics").content.decode())
    told = {family.name: [sample.value for sample in family.samples] for family in families}
    assert told["millrace_topology_memory_limit_bytes"] == [LIMIT]
    assert told["millrace_topology_batch_resident_bytes"] == [LIMIT // 2]


def test_a_job_that_ended_for_want_of_memory_waits_for_a_limit(
    supervised: Supervised, job: Callable[[str], None], as_operator: Client, post: Callable[..., Any]
) -> None:
    job("hungry")
    supervised.look()
    psutil.Process(supervised.run.pid).wait(PATIENCE_S)
    supervised.look(1)
    first = supervised.run
    for _ in range(2):
        topology = supervised.look(3600)
        assert topology.current_run == first
        shown = as_operator.get("/api/topologies/flights/").json()
        told = (shown["state"], shown["error"], shown["restart_at"], shown["desired"])
        assert told == ("failed", "too little memory", None, "running")

    assert post(as_operator, "/api/topologies/flights/start/").status_code == 202
    supervised.look(1)
    second = supervised.run
    assert second.pk > first.pk, "whoever asks for it may try"
    psutil.Process(second.pid).wait(PATIENCE_S)
    assert supervised.look(3600).current_run == second

    assert limit(as_operator, LIMIT).status_code == 200
    supervised.now = timezone.now()
    supervised.look(1)
    supervised.hear("job_failed", "job_failed", "job_started", "batch")
    supervised.look(1)
    assert supervised.run.pk > second.pk
    assert shown_state(as_operator) == ("running", None)


def test_a_limit_that_was_set_meanwhile_is_tried(
    supervised: Supervised, job: Callable[[str], None], as_operator: Client
) -> None:
    job("hungry")
    supervised.look()
    psutil.Process(supervised.run.pid).wait(PATIENCE_S)
    assert limit(as_operator, LIMIT).status_code == 200
    first = supervised.run
    supervised.look(1)
    topology = supervised.topology
    assert (topology.halted, topology.failures) == (False, 1)
    assert topology.restart_at is not None
    supervised.now = topology.restart_at
    supervised.look()
    assert supervised.run.pk > first.pk
    supervised.hear("job_failed", "job_started", "batch")
    supervised.look(1)
    assert shown_state(as_operator) == ("running", None)


def shown_state(client: Client) -> tuple[str, str | None]:
    document = client.get("/api/topologies/flights/").json()
    return document["state"], document["error"]


def command_of(pid: int | None) -> list[str]:
    """What a process was started with, which the kernel does not tell in the midst of an exec."""
    assert pid is not None
    deadline = monotonic() + PATIENCE_S
    while not (command := psutil.Process(pid).cmdline()):
        assert monotonic() < deadline
    return command
