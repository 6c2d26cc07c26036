"""A real Redis, accounts, and a small catalog, for the tests of the backend."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from backend.accounts.actions import create_operator
from backend.accounts.models import Team
from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.celery import app as celery_app
from backend.client import Millrace
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.run import redis_server
from backend.streams.actions import StreamSpec, create_stream
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from backend.topologies.models import Topology
from optimizer.algebra.types import ColumnType

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
THREE_WAY = """SELECT d.flight, w.wind, a.delay
FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w, arrivals [RANGE 3 HOURS] AS a
WHERE d.origin = w.origin AND d.tail = a.tail AND w.wind > 20
"""
TWO_WAY = """SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.origin
"""


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A redis-server of our own: the one that `make run` starts."""
    home = tmp_path_factory.mktemp("redis")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    binary = redis_server.executable()
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home)]
    server = subprocess.Popen(
        [binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if "eady to accept connections" in line:
                break
        else:
            pytest.fail(f"redis-server ended with {server.wait()}")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def bus(redis_url: str) -> Iterator[redis.Redis]:
    client: redis.Redis = redis.Redis.from_url(redis_url, decode_responses=True)
    client.flushall()
    yield client
    client.close()


@pytest.fixture(autouse=True)
def _product(settings: Settings, redis_url: str, bus: redis.Redis, tmp_path: Path) -> Iterator[None]:
    """Every test has its own files and an empty Redis."""
    settings.REDIS_URL = redis_url
    settings.MILLRACE_HOME = tmp_path
    settings.MILLRACE_METHOD = "greedy"
    settings.MILLRACE_PARALLELISM = 2.0
    # On purpose a password is hashed slowly, and every file of the front end looked up by a new client; here
    # both are done by the thousand, and no file of the front end is asked for.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.SERVESTATIC_USE_FINDERS = settings.SERVESTATIC_USE_STATIC_ROOT = False
    # Rates are counted in memory, which knows nothing of the rollback between two tests.
    cache.clear()
    broker = celery_app.conf.broker_url, celery_app.conf.result_backend
    celery_app.conf.update(broker_url=redis_url, result_backend=redis_url)
    yield
    celery_app.conf.update(broker_url=broker[0], result_backend=broker[1])
    # A job that a test launched leads its own session; none may outlive the test.
    for process in psutil.Process().children(recursive=True):
        if str(tmp_path) in " ".join(_command_line(process)):
            process.kill()
            process.wait(600)


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def signed_in(account: User) -> Client:
    client = Client()
    client.force_login(account)
    return client


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_user("ann", password="long-enough-1")


@pytest.fixture
def teammate(db: None) -> User:
    return User.objects.create_user("bob", password="long-enough-1")


@pytest.fixture
def outsider(db: None) -> User:
    """Signed in, and in no team."""
    return User.objects.create_user("zoe", password="long-enough-1")


@pytest.fixture
def viewer(db: None) -> User:
    account = User.objects.create_user("vic", password="long-enough-1")
    account.groups.add(Group.objects.get_or_create(name="viewers")[0])
    return account


@pytest.fixture
def team(owner: User, teammate: User) -> Team:
    """The owner's and the teammate's; nothing belongs to it until a test says so."""
    made = Team.objects.create(name="airside")
    made.members.set([owner, teammate])
    return made


@pytest.fixture
def operator(db: None) -> User:
    return create_operator("olga", "long-enough-1")


@pytest.fixture
def as_owner(owner: User) -> Client:
    return signed_in(owner)


@pytest.fixture
def as_teammate(teammate: User) -> Client:
    return signed_in(teammate)


@pytest.fixture
def as_outsider(outsider: User) -> Client:
    return signed_in(outsider)


@pytest.fixture
def as_viewer(viewer: User) -> Client:
    return signed_in(viewer)


@pytest.fixture
def as_operator(operator: User) -> Client:
    return signed_in(operator)


@pytest.fixture
def anonymous() -> Client:
    return Client()


@pytest.fixture
def streams(owner: User) -> dict[str, Stream]:
    text, moment, number = ColumnType.STRING, ColumnType.TIMESTAMP, ColumnType.DOUBLE
    columns = {
        "departures": (("at", moment), ("flight", text), ("tail", text), ("origin", text), ("delay", number)),
        "arrivals": (("at", moment), ("tail", text), ("delay", number)),
        "weather": (("at", moment), ("origin", text), ("wind", number)),
    }
    return {
        name: create_stream(owner, StreamSpec(name, shape, "at", tuples_per_second=10.0))
        for name, shape in columns.items()
    }


@pytest.fixture
def query(streams: dict[str, Stream], owner: User) -> Query:
    return create_query(owner, "windy", THREE_WAY, "Late in the wind", ["wind", "delay"])


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    """A topology whose only query was deployed and planned; nothing runs."""
    deploy_query(owner, query, "flights")
    topology = Topology.objects.get(name="flights")
    assert revisions.plan_newest(topology.pk)
    return Topology.objects.get(pk=topology.pk)


@pytest.fixture
def post() -> Callable[..., Any]:
    """POST a JSON document; returns the response."""

    def send(client: Client, url: str, document: object = None) -> Any:
        return client.post(url, {} if document is None else document, content_type="application/json")

    return send


@pytest.fixture
def token(owner: User, streams: dict[str, Stream]) -> str:
    return create_token(owner, "laptop")[1]


@pytest.fixture
def demo(db: None) -> str:
    """The demo as `make run` opens it, planned; gives a token of its account."""
    call_command("create_demo")
    assert revisions.plan_newest(Topology.objects.get(name="flights").pk)
    return create_token(User.objects.get(username="demo"), "laptop")[1]


@pytest.fixture
def millrace(live_server: object, token: str) -> Millrace:
    return Millrace(live_server.url, token)  # type: ignore[attr-defined]


@pytest.fixture
def run(live_server: object, token: str, tmp_path: Path) -> Run:
    """The command, in a folder of its own."""
    environment = {**os.environ, "MILLRACE_URL": live_server.url, "MILLRACE_TOKEN": token}  # type: ignore[attr-defined]
    environment["PYTHONPATH"] = str(ROOT)

    def command(*words: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "backend.client", *words],
            cwd=tmp_path,
            env={**environment, **settings},
            input=text,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return command
