"""Secrets appear neither in answers nor in logs."""

from __future__ import annotations

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver
from pytest_django import Settings

from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.runs import supervision
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from backend.topologies.models import Topology
from tests.security.test_endpoints import routes

pytestmark = pytest.mark.django_db
PASSWORD = "s3cr3t-of-redis"


def test_no_answer_shows_a_secret(
    as_operator: Client, owner: User, query: Query, streams: dict[str, Stream], settings: Settings
) -> None:
    _, secret = create_token(owner, "laptop")
    deploy_query(owner, query, "flights")
    hidden = [secret, settings.SECRET_KEY, owner.password]
    # Redis does not know this password, so that errors are looked at too.
    settings.REDIS_URL = settings.REDIS_URL.replace("redis://", f"redis://:{PASSWORD}@")
    asked = 0
    as_operator.raise_request_exception = False
    for route, path in sorted(routes(get_resolver())):
        if route.endswith(("events/", "logout/")):
            continue
        answer = as_operator.get(path)
        asked += answer.status_code == 200
        for text in (*hidden, PASSWORD):
            assert text.encode() not in answer.content, route
    assert asked > 10


def test_no_log_shows_a_secret(
    owner: User, query: Query, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    from django.utils import timezone

    settings.MILLRACE_JOB_COMMAND = ["/nonexistent"]
    deploy_query(owner, query, "flights")
    topology = Topology.objects.get()
    with caplog.at_level(logging.DEBUG):
        revisions.plan_newest(topology.pk)
        supervision.reconcile(topology.pk, timezone.now())
        _, secret = create_token(owner, "laptop")
        client = Client(headers={"Authorization": f"Bearer {secret}"})
        assert client.get("/api/me/").status_code == 200
        assert client.get("/api/queries/99/").status_code == 404
    written = caplog.text
    assert secret not in written
    assert settings.SECRET_KEY not in written
    assert settings.REDIS_URL not in written
