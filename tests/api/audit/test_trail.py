"""What is written into the audit trail: who, through what, how, and never a secret."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import Team
from backend.alerts.models import AlertRule
from backend.audit import actions
from backend.audit.actions import Subject, prune, record
from backend.audit.models import AuditEntry
from backend.audit.origin import Through, coming
from backend.catalog.models import Query
from backend.topologies.models import Plan, Topology
from tests.api.conftest import TWO_WAY, Run, signed_in

ROOT = Path(__file__).resolve().parents[3]
JSON = "application/json"
Post = Callable[..., Any]


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("root", password="long-enough-1")


def _last(**which: Any) -> AuditEntry:
    found = AuditEntry.objects.filter(**which).first()
    assert found is not None, f"no entry is like {which}"
    return found


def test_an_entry_says_who_what_and_how_it_was_before(
    as_owner: Client, owner: User, query: Query, team: Team, post: Post
) -> None:
    url = f"/api/queries/{query.pk}/"
    old = query.description
    assert as_owner.patch(url, {"description": "Storms"}, content_type=JSON).status_code == 200
    assert post(as_owner, f"{url}transfer/", {"owner": "bob", "team": "airside"}).status_code == 200
    described, given = _last(verb="change", kind="query"), _last(verb="transfer")
    assert (described.account, described.account_name, described.through) == (owner, "ann", Through.PAGE)
    assert (described.name, described.key, described.team) == ("windy", str(query.pk), "")
    assert described.changes == {"description": [old, "Storms"]}
    assert (given.team, given.changes) == ("airside", {"owner": ["ann", "bob"], "team": [None, "airside"]})
    # What leaves everything as it is is no change.
    count = AuditEntry.objects.count()
    assert as_owner.patch(url, {"description": "Storms"}, content_type=JSON).status_code == 200
    assert AuditEntry.objects.count() == count


@pytest.mark.django_db(transaction=True)
def test_what_a_token_does_is_its_owners_by_the_token(run: Run, owner: User, tmp_path: Path) -> None:
    queries = tmp_path / "repo" / "queries"
    queries.mkdir(parents=True)
    (queries / "fresh.sql").write_text(TWO_WAY)
    done = run("apply", "repo", "--wait", "0")
    assert done.returncode == 0, done.stderr
    made = _last(verb="create", kind="query", name="fresh")
    assert (made.account, made.through, made.through_name) == (
        owner,
        Through.DIRECTORY,
        "repo (token laptop)",
    )
    assert made.changes["sql"] == [None, TWO_WAY]
    again = run("apply", "repo", "--wait", "0")
    assert again.returncode == 0, again.stderr
    assert AuditEntry.objects.filter(name="fresh", verb="create").count() == 1


def test_commands_of_the_server_are_told_apart(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "MILLRACE_HOME": str(tmp_path),
        "MILLRACE_PASSWORD": "long-enough-1",
        "DATABASE_URL": f"sqlite:///{tmp_path}/a.sqlite3",
    }

    def manage(*words: str) -> str:
        command = [sys.executable, "manage.py", *words]
        return subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    manage("migrate", "--verbosity", "0")
    manage("create_operator", "olga")
    told = manage(
        *("shell", "--verbosity", "0", "-c"),
        "from backend.audit.models import AuditEntry\n"
        "for one in AuditEntry.objects.order_by('pk'):\n"
        "    print(one.through, one.through_name, one.verb, one.kind, one.name, one.account_name or '-')",
    )
    assert told.splitlines()[0] == "command create_operator create account olga -"
    assert "command create_operator add roles account olga -" in told


def test_no_secret_is_in_it(
    as_owner: Client, owner: User, admin: User, topology: Topology, post: Post
) -> None:
    rule = {"name": "night", "channel": "webhook", "target": "https://example.org/hook/s3cret-path"}
    assert post(as_owner, "/api/alerts/", {**rule, "topology": topology.name}).status_code == 201
    secret = post(as_owner, "/api/tokens/", {"name": "laptop"}).json()["secret"]
    root = signed_in(admin)
    link = post(root, f"/api/persons/{owner.pk}/password-link/", {}).json()["path"]
    anybody = Client()
    form = anybody.get(link)["Location"]
    new = {"new_password1": "another-long-1", "new_password2": "another-long-1"}
    assert anybody.post(form, new)["Location"] == "/login/"
    told = str(list(AuditEntry.objects.values()))
    hidden = (secret, "s3cret-path", AlertRule.objects.get().secret, "another-long-1", "long-enough-1", link)
    assert [one for one in hidden if one in told] == []
    owner.refresh_from_db()
    assert owner.password not in told
    made = _last(kind="alert rule")
    assert made.changes["target"] == [None, "https://example.org/..."]
    # Whoever sees a topology need not know who is alarmed by it.
    assert (made.topology, made.changes["topology"]) == ("", [None, "flights"])
    changed = _last(kind="account", name="ann", verb="change")
    assert (changed.account_name, changed.through) == ("ann", Through.PAGE)
    assert _last(verb="make password link").account_name == "root"
    assert changed.changes == {"password": [None, "(another one)"]}


def test_it_is_written_with_the_change_or_not_at_all(owner: User) -> None:
    with transaction.atomic():
        record(owner, "delete", Subject("query", "windy"))
        transaction.set_rollback(True)
    assert not AuditEntry.objects.filter(verb="delete").exists()


def test_it_outlives_accounts_and_topologies(
    topology: Topology, query: Query, operator: User, as_operator: Client, post: Post
) -> None:
    assert post(as_operator, "/api/topologies/flights/stop/", {"mode": "now"}).status_code == 202
    operator.delete()
    Topology.objects.update(plan=None)
    Plan.objects.all().delete()
    Topology.objects.all().delete()
    stopped = _last(verb="stop")
    assert (stopped.account, stopped.account_name, stopped.topology) == (None, "olga", "flights")
    # One that is called the same is another one.
    assert not _of_topology(Topology.objects.create(name="flights"))
    stopped.detail = "later"
    with pytest.raises(TypeError, match="written already"):
        stopped.save()


def _of_topology(topology: Topology) -> list[Any]:
    client = signed_in(User.objects.create_superuser("reader", password="long-enough-1"))
    answer = client.get(f"/api/topologies/{topology.name}/audit/")
    assert answer.status_code == 200, answer.content
    told: list[Any] = answer.json()
    return told


def test_signing_in_and_out_is_told_and_a_wrong_password_seldom(owner: User) -> None:
    client = Client()
    form = {"username": "ann", "password": "long-enough-1"}
    for wrong in ("not-this-1", "nor-this-1", "long-enough-1"):
        client.post("/login/", {**form, "password": wrong})
    client.post("/login/", {**form, "username": "long-enough-1"})
    client.post("/logout/")
    entries = AuditEntry.objects.filter(kind="account", name="ann").exclude(verb="create").order_by("pk")
    assert [one.verb for one in entries] == ["sign in refused", "sign in", "sign out"]
    assert [one.account_name for one in entries] == ["", "ann", "ann"]
    # Somebody typed it into the other field.
    assert "long-enough-1" not in str(list(AuditEntry.objects.values()))
    AuditEntry.objects.update(at=timezone.now() - timedelta(minutes=11))
    client.post("/login/", {**form, "password": "not-this-1"})
    assert AuditEntry.objects.filter(verb="sign in refused").count() == 2


def test_it_has_what_admins_do_with_teams(
    admin: User, owner: User, teammate: User, team: Team, post: Post
) -> None:
    as_admin = signed_in(admin)
    members = f"/api/teams/{team.pk}/members/"
    assert as_admin.patch(members, {"remove": ["bob"]}, content_type="application/json").status_code == 200
    left = _last(kind="team", verb="remove member")
    assert (left.name, left.detail, left.account_name, left.through) == ("airside", "bob", "root", "page")
    author = Group.objects.get_or_create(name="authors")[0]
    owner.groups.add(author)
    with coming(Through.PAGE, account=admin):
        owner.groups.clear()
    assert _last(verb="remove roles").changes == {"roles": [["authors"], None]}
    made = post(as_admin, "/api/teams/", {"name": "night"}).json()
    assert _last(kind="team", verb="create").name == "night"
    fields = {"name": "nights", "private": True, "max_state_tuples": 5.0}
    as_admin.patch(f"/api/teams/{made['id']}/", fields, content_type="application/json")
    assert _last(kind="team", verb="change").changes == {
        "name": ["night", "nights"],
        "private": [None, True],
        "max_state_tuples": [None, 5.0],
    }
    assert as_admin.delete(f"/api/teams/{made['id']}/").status_code == 204
    assert _last(kind="team", verb="delete").name == "nights"


def test_what_is_older_than_is_kept_goes(owner: User, settings: Settings) -> None:
    now = timezone.now()
    AuditEntry.objects.all().delete()
    for days in (401, 399):
        record(owner, "change", Subject("query", f"{days}"))
        AuditEntry.objects.filter(name=f"{days}").update(at=now - timedelta(days=days))
    settings.MILLRACE_AUDIT_DAYS = 0
    prune(now)
    assert AuditEntry.objects.count() == 2
    settings.MILLRACE_AUDIT_DAYS = 400
    prune(now)
    assert [one.name for one in AuditEntry.objects.all()] == ["399"]


def test_whoever_changes_very_much_drives_out_nothing_of_others(
    owner: User, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    AuditEntry.objects.all().delete()
    record(operator, "stop", Subject("topology", "flights"))
    for number in range(7):
        record(owner, "change", Subject("query", f"q{number}"))
    monkeypatch.setattr(actions, "MOST_PER_ACCOUNT", 3)
    prune(timezone.now())
    assert [one.name for one in AuditEntry.objects.all()] == ["q6", "q5", "q4", "flights"]


@pytest.mark.django_db(transaction=True)
def test_entries_of_topologies_move_and_come_back() -> None:
    before = [("topologies", "0012_team_protected")]
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    executor.migrate(before)
    apps = executor.loader.project_state(before).apps
    ann = apps.get_model("auth", "User").objects.create(username="ann")
    topology = apps.get_model("topologies", "Topology").objects.create(name="flights")
    entries = apps.get_model("topologies", "AuditEntry").objects
    for account, action, detail in (
        (ann.pk, "deploy", "windy v1"),
        (None, "suspend", "windy v1: too much"),
        (ann.pk, "redrive", "2 dead letters of weather"),
        (ann.pk, "stop", "now"),
    ):
        entries.create(topology_id=topology.pk, account_id=account, action=action, detail=detail)
    kept = list(entries.order_by("pk").values_list("account", "action", "detail", "at"))

    MigrationExecutor(connection).migrate(newest)
    moved = AuditEntry.objects.order_by("pk")
    assert [(one.account_name, one.verb, one.kind, one.name, one.topology) for one in moved] == [
        ("ann", "deploy", "query", "windy", "flights"),
        ("", "suspend", "query", "windy", "flights"),
        ("ann", "redrive", "stream", "weather", "flights"),
        ("ann", "stop", "topology", "flights", "flights"),
    ]
    made_by = Topology.objects.get().made_by
    assert made_by is not None
    assert made_by.get_username() == "ann"

    MigrationExecutor(connection).migrate(before)
    assert list(entries.order_by("pk").values_list("account", "action", "detail", "at")) == kept
    MigrationExecutor(connection).migrate(newest)
