"""What anybody may ask costs its work once, however many ask: health, readiness, the API's description."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest
from django.test import Client

from backend.observation import health
from backend.observation.single_flight import SingleFlight
from backend.shell.schema import Schema


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_the_database_is_asked_once_in_a_while(
    path: str,
    anonymous: Client,
    db: None,
    django_assert_num_queries: Callable[[int], AbstractContextManager[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for found in (health._HEALTH, health._READINESS):
        monkeypatch.setattr(found, "_seconds", 60.0)
    assert anonymous.get(path).status_code == 200
    with django_assert_num_queries(0):
        assert {anonymous.get(path).status_code for _ in range(5)} == {200}


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_description_is_written_once(
    form: str, anonymous: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = anonymous.get(f"/api/schema/?format={form}")
    monkeypatch.setattr(Schema, "generator_class", None)
    again = anonymous.get(f"/api/schema/?format={form}")
    assert (again.status_code, again.content) == (200, first.content)
    assert (
        anonymous.get(f"/api/schema/?format={form}", headers={"if-none-match": again["ETag"]}).status_code
        == 304
    )


def test_one_thread_works_while_the_others_take_what_there_is() -> None:
    working, let_go, made = threading.Event(), threading.Event(), []

    def compute() -> int:
        made.append(len(made))
        if len(made) > 1:
            working.set()
            let_go.wait(20)
        return made[-1]

    found = SingleFlight(compute, 0.0, lambda: "here")
    assert found.get() == 0
    with ThreadPoolExecutor(8) as threads:
        slow = threads.submit(found.get)
        assert working.wait(20)
        assert {one.result(20) for one in [threads.submit(found.get) for _ in range(7)]} == {0}
        let_go.set()
        assert slow.result(20) == 1
    assert made == [0, 1]


def test_nobody_has_what_was_found_elsewhere() -> None:
    where = ["here"]
    found = SingleFlight(lambda: where[0], 60.0, lambda: where[0])
    assert found.get() == "here"
    where[0] = "there"
    assert found.get() == "there"
