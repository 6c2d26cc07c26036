"""Rules over HTTP, and messages that are sent once, again after a failure, and when it is over."""

from __future__ import annotations

import email
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
import trustme
from aiosmtpd.controller import Controller
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import Team
from backend.alerts import delivery, tasks, watching
from backend.alerts.models import Alert, AlertRule, Delivery
from backend.deployments.actions import create_topology
from backend.run.setting import free_port
from backend.streams.actions import StreamSpec, create_stream
from backend.topologies.models import Desired, Run, RunState, Topology
from jobs.protocol import BatchCompleted, JobStarted, StreamMetrics, events_key, stream_key
from optimizer.algebra.types import ColumnType
from tests.api.alerts.conftest import Receiver
from tests.api.alerts.inbox import Inbox

Post = Callable[..., Any]
pytestmark = pytest.mark.django_db


def rule(receiver: Receiver | None = None, **changes: object) -> dict[str, object]:
    target = "https://example.org/hook" if receiver is None else receiver.url
    return {"name": "night shift", "channel": "webhook", "target": target, **changes}


@pytest.fixture
def failed() -> Topology:
    """A topology whose job failed."""
    topology = create_topology("flights")
    run = Run.objects.create(topology=topology, state=RunState.FAILED, error="the disk is full")
    Topology.objects.update(desired=Desired.RUNNING, current_run=run)
    return topology


def test_a_rule_is_made_changed_and_deleted(as_owner: Client, post: Post) -> None:
    made = post(as_owner, "/api/alerts/", rule(lag_seconds=60))
    assert made.status_code == 201, made.content
    document = made.json()
    assert (document["on_failed"], document["lag_seconds"], document["stuck_seconds"]) == (True, 60, None)
    assert len(document["secret"]) >= 32
    url = f"/api/alerts/{document['id']}/"
    changed = as_owner.put(url, rule(name="day", enabled=False), content_type="application/json").json()
    assert (changed["name"], changed["enabled"], changed["lag_seconds"]) == ("day", False, None)
    assert changed["secret"] == document["secret"]
    assert as_owner.get("/api/alerts/").json() == [changed]
    assert as_owner.delete(url).status_code == 204
    assert as_owner.get(url).status_code == 404


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"target": "ftp://a.org"}, 400, "target"),
        ({"target": "https://me:pw@a.org"}, 400, "target"),
        ({"channel": "email", "target": "nobody"}, 400, "target"),
        ({"channel": "email", "target": "ann@example.org"}, 400, "MILLRACE_EMAIL"),
        ({"on_failed": False}, 400, "on_failed"),
        ({"lag_seconds": 1}, 400, "lag_seconds"),
        ({"topology": "nowhere"}, 409, "no-such-topology"),
        ({"team": "nobody"}, 409, "no-such-team"),
    ],
)
def test_a_bad_rule_is_refused(
    as_owner: Client, post: Post, changes: dict[str, object], status: int, said: str
) -> None:
    answer = post(as_owner, "/api/alerts/", rule(**changes))
    assert (answer.status_code, said in answer.content.decode()) == (status, True), answer.content
    assert not AlertRule.objects.exists()


def test_rules_are_the_teams(
    as_owner: Client, as_teammate: Client, as_outsider: Client, as_viewer: Client, as_operator: Client,
    post: Post, team: Team,
) -> None:  # fmt: skip
    own = post(as_owner, "/api/alerts/", rule()).json()
    shared = post(as_owner, "/api/alerts/", rule(team="airside")).json()

    def seen(client: Client) -> list[int]:
        return [one["id"] for one in client.get("/api/alerts/").json()]

    assert seen(as_owner) == seen(as_operator) == [own["id"], shared["id"]]
    assert seen(as_teammate) == [shared["id"]]
    assert seen(as_outsider) == []
    assert as_outsider.get(f"/api/alerts/{shared['id']}/deliveries/").status_code == 404
    assert as_teammate.delete(f"/api/alerts/{own['id']}/").status_code == 404
    assert as_teammate.delete(f"/api/alerts/{shared['id']}/").status_code == 204
    assert post(as_viewer, "/api/alerts/", rule()).status_code == 403
    assert post(as_outsider, "/api/alerts/", rule(team="airside")).status_code == 403


def test_a_failure_is_told_once_and_when_it_is_over(
    as_owner: Client, post: Post, failed: Topology, receiver: Receiver
) -> None:
    made = post(as_owner, "/api/alerts/", rule(receiver)).json()
    post(as_owner, "/api/alerts/", rule(receiver, topology="flights", enabled=False))
    now = timezone.now()
    (opened,) = watching.watch(now)
    tasks.deliver(opened)
    assert watching.watch(now + timedelta(minutes=1)) == []
    tasks.deliver(opened)
    (told,) = receiver.documents
    assert {name: told[name] for name in ("event", "kind", "topology", "detail", "rule")} == {
        "event": "opened",
        "kind": "failed",
        "topology": "flights",
        "detail": "the disk is full",
        "rule": "night shift",
    }
    Run.objects.update(state=RunState.RUNNING)
    (closed,) = watching.watch(now + timedelta(minutes=2))
    assert delivery.attempt(closed, now + timedelta(minutes=2)) is None
    assert receiver.documents[1]["event"] == "closed"
    assert Alert.objects.get().closed_at == now + timedelta(minutes=2)
    # It fails again: another alert.
    Run.objects.update(state=RunState.FAILED)
    assert len(watching.watch(now + timedelta(minutes=3))) == 1
    history = as_owner.get(f"/api/alerts/{made['id']}/deliveries/").json()
    assert [(one["kind"], one["event"], one["state"]) for one in history] == [
        ("failed", "opened", "waiting"),
        ("failed", "closed", "sent"),
        ("failed", "opened", "sent"),
    ]


def test_a_receiver_that_is_away_is_asked_again(
    as_owner: Client, post: Post, failed: Topology, receiver: Receiver
) -> None:
    post(as_owner, "/api/alerts/", rule(receiver))
    now = timezone.now()
    (message,) = watching.watch(now)
    receiver.status = 500
    waits = []
    for _ in range(3):
        wait = delivery.attempt(message, now)
        assert wait is not None
        waits.append(wait)
        # Nobody tries before it is due; a lost task is found when it is overdue.
        assert delivery.attempt(message, now) is None
        now += wait
        assert watching.watch(now + watching.OVERDUE + timedelta(seconds=1)) == [message]
    assert waits == [delivery.FIRST_WAIT, 2 * delivery.FIRST_WAIT, 4 * delivery.FIRST_WAIT]
    receiver.status = 200
    assert delivery.attempt(message, now) is None
    row = Delivery.objects.get()
    assert (row.state, row.attempts, row.error) == ("sent", 4, "")
    assert len(receiver.bodies) == 4


def test_a_receiver_that_stays_away_is_given_up(
    as_owner: Client, post: Post, failed: Topology, receiver: Receiver, settings: Settings
) -> None:
    made = post(as_owner, "/api/alerts/", rule(receiver)).json()
    receiver.status = 500
    now = timezone.now()
    (message,) = watching.watch(now)
    for _ in range(delivery.MOST_ATTEMPTS):
        now += delivery.attempt(message, now) or timedelta(0)
    history = as_owner.get(f"/api/alerts/{made['id']}/deliveries/").json()
    assert (history[0]["state"], history[0]["attempts"]) == ("failed", delivery.MOST_ATTEMPTS)
    assert history[0]["error"] == "127.0.0.1 answered 500"
    # What is not allowed is not tried twice.
    settings.MILLRACE_WEBHOOK_PRIVATE = False
    Delivery.objects.update(state="waiting", attempts=0, due_at=now)
    assert delivery.attempt(message, now) is None
    assert "no public address" in Delivery.objects.get().error
    assert Delivery.objects.get().state == "failed"


def test_an_email_is_written(
    as_owner: Client, post: Post, failed: Topology, settings: Settings, tmp_path: Path
) -> None:
    settings.MILLRACE_EMAIL = f"file://{tmp_path}/mail"
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path / "mail")
    answer = post(as_owner, "/api/alerts/", rule(channel="email", target="ann@example.org"))
    assert answer.status_code == 201, answer.content
    (message,) = watching.watch(timezone.now())
    tasks.deliver(message)
    (file,) = (tmp_path / "mail").iterdir()
    written = email.message_from_bytes(file.read_bytes())
    assert (written["To"], written["Subject"]) == ("ann@example.org", "[Millrace] flights: failed opened")
    assert "detail: the disk is full" in written.as_string()


@pytest.mark.filterwarnings("ignore:Requiring AUTH:UserWarning")
@pytest.mark.parametrize("encryption", ["EMAIL_USE_TLS", "EMAIL_USE_SSL"])
def test_an_email_reaches_a_mail_server_over_tls(
    as_owner: Client, post: Post, failed: Topology, settings: Settings, authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encryption: str,
) -> None:  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    inbox = Inbox()
    secret = {"authenticator": inbox.authenticate, "auth_required": True}
    port = free_port()
    server = (
        Controller(inbox, "localhost", port, tls_context=context, require_starttls=True, **secret)
        if encryption == "EMAIL_USE_TLS"
        else Controller(inbox, "localhost", port, ssl_context=context, auth_require_tls=False, **secret)
    )
    settings.MILLRACE_EMAIL = "smtp://night:watch@localhost"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = (
        "localhost",
        "night",
        "watch",
    )
    settings.EMAIL_TIMEOUT = 10
    setattr(settings, encryption, True)
    post(as_owner, "/api/alerts/", rule(channel="email", target="ann@example.org"))
    now = timezone.now()
    (message,) = watching.watch(now)
    settings.EMAIL_PORT = port
    server.start()
    try:
        wait = delivery.attempt(message, now)
        assert wait is not None
        assert "certificate verify failed" in Delivery.objects.get().error
        assert inbox.envelopes == []
        bundle = tmp_path / "authorities.pem"
        authority.cert_pem.write_to_path(bundle)
        monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
        settings.EMAIL_HOST_PASSWORD = "wrong"
        wait = delivery.attempt(message, now + wait)
        assert wait is not None
        assert "535" in Delivery.objects.get().error
        settings.EMAIL_HOST_PASSWORD = "watch"
        assert delivery.attempt(message, Delivery.objects.get().due_at) is None
    finally:
        server.stop()
    assert Delivery.objects.get().state == "sent"
    (envelope,) = inbox.envelopes
    assert envelope.rcpt_tos == ["ann@example.org"]
    assert b"Subject: [Millrace] flights: failed opened" in envelope.content
    assert b"detail: the disk is full" in envelope.content


def test_a_rule_that_no_longer_watches_leaves_nothing_open(
    as_owner: Client, post: Post, failed: Topology, receiver: Receiver
) -> None:
    create_topology("slow")
    made = post(as_owner, "/api/alerts/", rule(receiver)).json()
    now = timezone.now()
    watching.watch(now)
    assert Alert.objects.get().closed_at is None
    url = f"/api/alerts/{made['id']}/"
    for changes in ({"topology": "slow"}, {"enabled": False}):
        Alert.objects.update(closed_at=None)
        as_owner.put(url, rule(receiver, **changes), content_type="application/json")
        assert Alert.objects.get().closed_at is not None
    assert Delivery.objects.count() == 1


def test_a_message_whose_workers_die_is_given_up(
    as_owner: Client, post: Post, failed: Topology, receiver: Receiver
) -> None:
    post(as_owner, "/api/alerts/", rule(receiver))
    now = timezone.now()
    (message,) = watching.watch(now)
    Delivery.objects.update(attempts=delivery.MOST_ATTEMPTS)
    assert delivery.attempt(message, now) is None
    assert Delivery.objects.get().state == "failed"
    assert receiver.bodies == []


def test_lag_and_standstill_are_seen_in_what_the_job_says(
    as_owner: Client, post: Post, receiver: Receiver, bus: redis.Redis
) -> None:
    create_topology("flights")
    Topology.objects.update(desired=Desired.RUNNING)
    post(as_owner, "/api/alerts/", rule(receiver, topology="flights", lag_seconds=60, stuck_seconds=30))
    now = datetime.now(UTC)
    day = datetime(2013, 1, 1, tzinfo=UTC)

    def at(minutes: int) -> StreamMetrics:
        moment = day + timedelta(minutes=minutes)
        return StreamMetrics(accepted=1, late=0, undecodable=0, watermark=moment, max_event_time=moment)

    started = JobStarted(run="0" * 16, at=now, pid=1, host="here", plan_id="flights.1", batch=0)
    batch = BatchCompleted(
        run="0" * 16, at=now, batch=0, epoch=0, plan_id="flights.1", seconds=0.1, tuples_in=1, backlog=0,
        level_seconds=[0.1], streams={"fast": at(10), "slow": at(0)}, stores={}, edges={}, queries={},
    )  # fmt: skip
    for event in (started, batch):
        bus.xadd(events_key("flights"), {"message": event.model_dump_json()})
    # Versions of a table may be of any time.
    columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
    slow = StreamSpec("slow", columns, "at", kind="table", key=("k",))
    record = create_stream(User.objects.get(username="ann"), slow)
    watching.watch(now)
    assert not Alert.objects.exists()
    record.delete()
    watching.watch(now)
    assert list(Alert.objects.values_list("kind", flat=True)) == ["lag"]
    # A tuple comes after the batch, and nobody takes it.
    arrived = int(now.timestamp() * 1000) + 5000
    bus.xadd(stream_key("slow"), {"json": "{}"}, id=f"{arrived}-0")
    watching.watch(now + timedelta(seconds=34))
    assert Alert.objects.count() == 1
    watching.watch(now + timedelta(seconds=36))
    assert set(Alert.objects.values_list("kind", flat=True)) == {"lag", "stuck"}


@pytest.mark.django_db(transaction=True)
def test_a_rule_is_tried(as_owner: Client, post: Post, receiver: Receiver, owner: User) -> None:
    made = post(as_owner, "/api/alerts/", rule(receiver)).json()
    answer = post(as_owner, f"/api/alerts/{made['id']}/test/")
    assert (answer.status_code, answer.json()["kind"]) == (202, "test")
    tasks.deliver(answer.json()["id"])
    assert receiver.documents[0]["detail"] == "this is a test"
    assert as_owner.get(f"/api/alerts/{made['id']}/").json()["newest"]["state"] == "sent"
    again = post(as_owner, f"/api/alerts/{made['id']}/test/")
    assert (again.status_code, again.json()["code"]) == (409, "tested-just-now")


def test_a_rule_says_how_its_newest_message_went(as_owner: Client, post: Post) -> None:
    made = post(as_owner, "/api/alerts/", {**rule(), "target": "http://127.0.0.1:9/hook"}).json()
    assert made["newest"] is None
    other = post(as_owner, "/api/alerts/", rule()).json()
    tried = post(as_owner, f"/api/alerts/{made['id']}/test/").json()
    tasks.deliver(tried["id"])
    found = {rule["id"]: rule["newest"] for rule in as_owner.get("/api/alerts/").json()}
    assert found[other["id"]] is None
    assert found[made["id"]]["state"] == "failed"
    assert "no public address" in found[made["id"]]["error"]


def test_what_is_long_over_is_forgotten(
    as_owner: Client, post: Post, failed: Topology, receiver: Receiver
) -> None:
    post(as_owner, "/api/alerts/", rule(receiver))
    now = timezone.now()
    (message,) = watching.watch(now)
    tasks.deliver(message)
    # An open one stays, however old.
    assert watching.watch(now + 2 * watching.KEPT) == []
    assert Alert.objects.count() == 1
    Run.objects.update(state=RunState.RUNNING)
    watching.watch(now + 2 * watching.KEPT)
    Delivery.objects.update(state="sent")
    watching.watch(now + 3 * watching.KEPT + timedelta(seconds=1))
    assert not Alert.objects.exists()
    assert not Delivery.objects.exists()
