"""One query's estimated cost is bounded before it reaches a topology."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.streams.models import Stream
from backend.topologies.models import Topology

pytestmark = pytest.mark.django_db
Post = Callable[..., Any]
CROSS = """SELECT d.flight FROM departures [RANGE 1 DAY] AS d CROSS JOIN weather [RANGE 1 DAY] AS w
CROSS JOIN arrivals [RANGE 1 DAY] AS a
"""


def test_a_cross_product_is_refused_and_nothing_is_made(
    as_owner: Client, post: Post, owner: User, query: Query
) -> None:
    crossed = create_query(owner, "crossed", CROSS)
    answer = post(as_owner, f"/api/queries/{crossed.pk}/deploy/", {"topology": "flights"})
    assert (answer.status_code, answer.json()["code"]) == (409, "too-many-tuples")
    assert "MILLRACE_MAX_TUPLE_RATE" in answer.json()["detail"]
    assert not Topology.objects.exists()
    assert post(as_owner, f"/api/queries/{query.pk}/deploy/").status_code == 202


def test_what_nobody_declared_counts_in_the_querys_favour(as_owner: Client, post: Post, query: Query) -> None:
    Stream.objects.update(tuples_per_second=None)
    assert post(as_owner, f"/api/queries/{query.pk}/deploy/").status_code == 202


def test_state_is_bounded(as_owner: Client, post: Post, query: Query, settings: Settings) -> None:
    settings.MILLRACE_MAX_STATE_TUPLES = 1000.0
    answer = post(as_owner, f"/api/queries/{query.pk}/deploy/")
    assert (answer.status_code, answer.json()["code"]) == (409, "too-much-state")
    assert "at most 1e+03" in answer.json()["detail"]
