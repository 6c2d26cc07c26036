"""Who waits before a request has a thread: strangers and opening pages, for each other alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from backend.http import gates
from backend.http.gates import Gates, KnownCredentials
from tests.api.asynchronous import PATIENCE_SECONDS, until
from tests.api.asynchronous import run as told

ALICE = {"authorization": "Bearer alice"}
Ask = Callable[..., "asyncio.Task[HttpResponse]"]


class Inside:
    """What stands behind the gates: every request stays until it is let go."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.let_go = asyncio.Event()
        self._gated = cast(Callable[[HttpRequest], Awaitable[HttpResponse]], Gates(self._answer))

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        is_alice = request.headers.get("Authorization") == ALICE["authorization"]
        request.user = User(username="alice") if is_alice else AnonymousUser()
        self.paths.append(request.path)
        if request.path != "/at-once/":
            await self.let_go.wait()
        return HttpResponse()

    async def ask(self, path: str, headers: dict[str, str] | None = None) -> HttpResponse:
        return await self._gated(RequestFactory().get(path, headers=headers or {}))

    def begin(self, path: str, headers: dict[str, str] | None = None) -> asyncio.Task[HttpResponse]:
        return asyncio.create_task(self.ask(path, headers))


def run(story: Callable[[Inside], Coroutine[Any, Any, None]]) -> None:
    # The middleware is made where the loop runs.
    told(lambda: story(Inside()))


@pytest.fixture(autouse=True)
def _held_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "HELD_SECONDS", PATIENCE_SECONDS)


def test_who_was_signed_in_does_not_wait_with_strangers() -> None:
    async def story(inside: Inside) -> None:
        await inside.ask("/at-once/", ALICE)
        strangers = [inside.begin("/readyz") for _ in range(50)]
        forged = inside.begin("/api/me/", {"authorization": "Bearer forged"})
        await until(lambda: inside.paths.count("/readyz") == gates.STRANGERS)
        await inside.ask("/at-once/", ALICE)
        assert inside.paths == ["/at-once/", *["/readyz"] * gates.STRANGERS, "/at-once/"]
        inside.let_go.set()
        await asyncio.gather(*strangers, forged)
        assert len(inside.paths) == 53

    run(story)


def test_pages_that_open_wait_for_each_other_alone() -> None:
    async def story(inside: Inside) -> None:
        await inside.ask("/at-once/", ALICE)
        pages = [inside.begin("/api/topologies/flights/events/", ALICE) for _ in range(20)]
        await until(lambda: len(inside.paths) == 1 + gates.OPENING)
        await inside.ask("/at-once/", ALICE)
        await inside.ask("/at-once/")
        assert inside.paths.count("/at-once/") == 3
        assert len(inside.paths) == 3 + gates.OPENING
        inside.let_go.set()
        await asyncio.gather(*pages)

    run(story)


def test_what_takes_long_holds_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "HELD_SECONDS", 0.05)

    async def story(inside: Inside) -> None:
        asked = [inside.begin(f"/{number}/") for number in range(3 * gates.STRANGERS)]
        await until(lambda: len(inside.paths) == 3 * gates.STRANGERS)
        assert inside.paths == [f"/{number}/" for number in range(3 * gates.STRANGERS)]
        inside.let_go.set()
        await asyncio.gather(*asked)

    run(story)


def test_who_goes_while_waiting_leaves_the_gate_as_it_is() -> None:
    async def story(inside: Inside) -> None:
        asked = [inside.begin("/readyz") for _ in range(5 * gates.STRANGERS)]
        await until(lambda: len(inside.paths) == gates.STRANGERS)
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await inside.ask("/at-once/")
        inside.let_go.set()
        await asyncio.gather(*(inside.ask("/readyz") for _ in range(5 * gates.STRANGERS)))

    run(story)


def test_only_so_many_credentials_are_known_and_only_while_they_hold() -> None:
    known = KnownCredentials(most=2)
    for credential in ("a", "b", "a", "c"):
        known.note(credential, signed_in=True)
    assert [one in known for one in "abc"] == [True, False, True]
    known.note("a", signed_in=False)
    assert "a" not in known
