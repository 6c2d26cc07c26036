"""Passwords are looked at a few at a time: whoever signs in takes the processors from nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from itertools import count
from typing import Any, cast

import pytest
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from backend.accounts import throttles
from backend.accounts.throttles import SignIn
from tests.api.asynchronous import run as told
from tests.api.asynchronous import until


class Inside:
    """What stands behind the middleware: a password is looked at until it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.let_go = asyncio.Event()
        self._bounded = cast(Callable[[HttpRequest], Awaitable[HttpResponse]], SignIn(self._answer))
        self._addresses = count(1)

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        self.asked += 1
        if request.method == "POST":
            await self.let_go.wait()
        return HttpResponse()

    async def ask(self, method: str, path: str) -> HttpResponse:
        # Each from an address of its own, so that no rate holds.
        return await self._bounded(
            RequestFactory().generic(method, path, REMOTE_ADDR=f"192.0.2.{next(self._addresses)}")
        )

    def sign_in(self, people: int, path: str = "/login/") -> list[asyncio.Task[HttpResponse]]:
        return [asyncio.create_task(self.ask("POST", path)) for _ in range(people)]


@pytest.fixture(autouse=True)
def _nobody_waits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def run(story: Callable[[Inside], Coroutine[Any, Any, None]]) -> None:
    # The middleware is made where the loop runs.
    told(lambda: story(Inside()))


@pytest.mark.parametrize("path", ["/login/", "/login/code/", "/account/security/"])
def test_passwords_wait_for_each_other_and_nothing_else_does(path: str) -> None:
    async def story(inside: Inside) -> None:
        people = inside.sign_in(throttles.AT_ONCE + 5, path)
        await until(lambda: inside.asked == throttles.AT_ONCE)
        assert (await inside.ask("GET", path)).status_code == 200
        assert (await inside.ask("GET", "/api/me/")).status_code == 200
        assert inside.asked == throttles.AT_ONCE + 2
        inside.let_go.set()
        assert {answer.status_code for answer in await asyncio.gather(*people)} == {200}

    run(story)


def test_no_more_than_so_many_wait() -> None:
    async def story(inside: Inside) -> None:
        people = inside.sign_in(throttles.AT_ONCE + throttles.MOST_WAITING + 3)
        done, _ = await asyncio.wait(people, return_when=asyncio.FIRST_COMPLETED)
        await until(lambda: sum(one.done() for one in people) == 3)
        assert {one.result().status_code for one in done} == {503}
        inside.let_go.set()
        answers = await asyncio.gather(*people)
        refused = [answer for answer in answers if answer.status_code == 503]
        assert len(refused) == 3
        assert all(int(answer["Retry-After"]) > 0 for answer in refused)

    run(story)


def test_whoever_has_waited_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttles, "WAIT_SECONDS", 0.05)

    async def story(inside: Inside) -> None:
        people = inside.sign_in(throttles.AT_ONCE + 1)
        await until(lambda: any(one.done() for one in people))
        (told,) = [one.result() for one in people if one.done()]
        assert (told.status_code, told["Retry-After"]) == (503, "5")
        inside.let_go.set()
        assert sum(answer.status_code == 200 for answer in await asyncio.gather(*people)) == throttles.AT_ONCE

    run(story)
