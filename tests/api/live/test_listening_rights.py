"""Who may listen, how many at once, and who is sent away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import AsyncClient
from django.utils import timezone
from rest_framework.throttling import AnonRateThrottle

from backend.accounts.models import ServiceAccount, Team
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.live.sse import hub as hubs
from backend.live.sse import listener as listeners
from backend.live.sse.connection_limits import SLOTS
from backend.service_accounts import actions as service_accounts
from backend.tokens.actions import create_token, revoke_token
from backend.tokens.models import Token
from tests.api.live.listening import URL, ends, next_event, open_stream, say, session, until, written

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("flights", "_nobody_listens")]

BUSY_S = 3.0
"""What a busy machine adds."""


def test_an_account_has_so_many_streams_and_others_have_theirs(
    teammate: User, outsider: User, settings: Any, bus: redis.Redis
) -> None:
    settings.MILLRACE_LISTENERS_ACCOUNT = 3.0
    settings.MILLRACE_LISTENERS = 5.0

    async def story() -> None:
        client, other = await session(teammate), await session(outsider)
        _, secret = await written(create_token, teammate, "program")
        program = {"Authorization": f"Bearer {secret}"}
        opened = [await open_stream(client) for _ in range(2)]
        opened.append(await open_stream(AsyncClient(), **program))
        for one in opened:
            await next_event(one)
        for asking, headers in ((client, {}), (AsyncClient(), program)):
            refused = await asking.get(URL, headers=headers)
            assert refused.status_code == 429, "an account's tokens are the account's"
            assert refused["Retry-After"] == "10"
            assert refused.json()["code"] == "too-many-listeners"
            assert "3 live connections" in refused.json()["detail"]
            asked = await asking.head(URL, headers=headers)
            assert (asked.status_code, asked["Retry-After"], asked.content) == (429, "10", b"")
        opened += [await open_stream(other), await open_stream(other)]
        for one in opened[3:]:
            await next_event(one)
        assert (await other.get(URL)).json()["code"] == "listeners-full"
        await opened[0].aclose()
        await until(lambda: len(SLOTS) == 4)
        assert (await client.head(URL)).status_code == 200
        opened[0] = await open_stream(client)
        await next_event(opened[0])
        for one in opened:
            await one.aclose()

    asyncio.run(story())


def test_asking_is_limited_like_every_other_request(
    teammate: User, bus: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AnonRateThrottle, "rate", "3/min", raising=False)

    async def story() -> None:
        stranger = AsyncClient()
        for _ in range(3):
            assert (await stranger.get(URL)).status_code == 403
        refused = await stranger.get(URL)
        assert refused.status_code == 429
        assert int(refused["Retry-After"]) > 0
        client = await session(teammate)
        assert (await client.head(URL)).status_code == 200, "of an account nothing was counted"

    asyncio.run(story())


@dataclass
class Watcher:
    """An account that listens by a session and by a token."""

    account: User
    client: AsyncClient
    token: Token

    @property
    def sessions(self) -> Any:
        return Session.objects.filter(pk=self.client.cookies["sessionid"].value)


def _logs_out(one: Watcher) -> None:
    one.client.logout()


def _session_expires(one: Watcher) -> None:
    one.sessions.update(expire_date=timezone.now() - timedelta(seconds=1))


def _changes_password(one: Watcher) -> None:
    one.account.set_password("another-long-1")
    one.account.save()


def _is_deactivated(one: Watcher) -> None:
    User.objects.filter(pk=one.account.pk).update(is_active=False)


def _is_deleted(one: Watcher) -> None:
    one.account.delete()


def _token_is_revoked(one: Watcher) -> None:
    revoke_token(one.token.owner, one.token)


def _token_expires(one: Watcher) -> None:
    Token.objects.filter(pk=one.token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("happens", "ended"),
    [
        (_logs_out, {"session"}),
        (_session_expires, {"session"}),
        (_changes_password, {"session"}),
        (_is_deactivated, {"session", "token"}),
        (_is_deleted, {"session", "token"}),
        (_token_is_revoked, {"token"}),
        (_token_expires, {"token"}),
    ],
)
def test_who_may_no_longer_listen_is_sent_away(
    teammate: User,
    outsider: User,
    bus: redis.Redis,
    happens: Callable[[Watcher], None],
    ended: set[str],
) -> None:
    async def story() -> None:
        token, secret = await written(create_token, teammate, "program")
        client = await session(teammate)
        opened = {
            "session": await open_stream(client),
            "token": await open_stream(AsyncClient(), Authorization=f"Bearer {secret}"),
            "somebody else's": await open_stream(await session(outsider)),
        }
        for stream in opened.values():
            await next_event(stream)
            await next_event(stream)
        await asyncio.sleep(2 * hubs.CHECK_SECONDS)
        await written(happens, Watcher(teammate, client, token))
        began = asyncio.get_running_loop().time()
        for name in ended:
            assert await ends(opened[name]), name
        # Half a second, and what a busy machine adds; no beat has passed.
        assert hubs.CHECK_SECONDS <= 0.5
        assert asyncio.get_running_loop().time() - began < listeners.BEAT_SECONDS / 3
        [entry] = say(bus, 1)
        for name in opened.keys() - ended:
            assert (await next_event(opened[name]))["id"] == entry, name
            await opened[name].aclose()

    asyncio.run(story())


@pytest.mark.parametrize("happens", ["disabled", "deleted", "token revoked"])
def test_a_service_account_that_ends_is_sent_away(
    team: Team, admin_user: User, teammate: User, bus: redis.Redis, happens: str
) -> None:
    def prepare() -> tuple[ServiceAccount, Token, str]:
        service = service_accounts.create_service_account(admin_user, team, "loader")
        return service, *service_accounts.create_service_token(admin_user, service, "nightly", None, None)

    async def story() -> None:
        service, token, secret = await written(prepare)
        ending = {
            "disabled": lambda: service_accounts.set_enabled(admin_user, service, False),
            "deleted": lambda: service_accounts.delete_service_account(admin_user, service),
            "token revoked": lambda: service_accounts.revoke_service_token(admin_user, service, token),
        }
        own = await open_stream(AsyncClient(), Authorization=f"Bearer {secret}")
        other = await open_stream(await session(teammate))
        for stream in (own, other):
            await next_event(stream)
            await next_event(stream)
        await asyncio.sleep(2 * hubs.CHECK_SECONDS)
        await written(ending[happens])
        began = asyncio.get_running_loop().time()
        assert await ends(own)
        assert asyncio.get_running_loop().time() - began < 1.0 + BUSY_S
        [entry] = say(bus, 1)
        assert (await next_event(other))["id"] == entry
        await other.aclose()
        refused = await AsyncClient().get(URL, headers={"Authorization": f"Bearer {secret}"})
        assert refused.status_code == 403

    asyncio.run(story())


def test_a_session_that_is_only_written_to_goes_on(teammate: User, bus: redis.Redis) -> None:
    async def story() -> None:
        client = await session(teammate)
        async with aclosing(await open_stream(client)) as stream:
            await next_event(stream)
            await next_event(stream)

            def write() -> None:
                session = client.session
                session["theme"] = "dark"
                session.save()

            await written(write)
            await asyncio.sleep(3 * hubs.CHECK_SECONDS)
            [entry] = say(bus, 1)
            assert (await next_event(stream))["id"] == entry

    asyncio.run(story())


def test_a_database_that_cannot_be_asked_is_borne_for_a_while(
    teammate: User, bus: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(hubs, "UNKNOWN_SECONDS", 1.0)

    async def story() -> None:
        async with aclosing(await open_stream(await session(teammate))) as stream:
            await next_event(stream)
            monkeypatch.setattr(hubs, "_checked", lambda _: None)
            await asyncio.sleep(0.5)
            [entry] = say(bus, 1)
            await next_event(stream)
            assert (await next_event(stream))["id"] == entry
            assert await ends(stream), "nobody stays for ever unasked"

    asyncio.run(story())


def test_a_stream_ends_within_a_second_when_the_right_goes(
    teammate: User, team: Team, owner: User, query: Query, bus: redis.Redis
) -> None:
    async def story() -> None:
        await written(deploy_query, owner, query, "flights")
        await written(lambda: Query.objects.filter(pk=query.pk).update(team=team))
        client = await session(teammate)
        opened = await open_stream(client)
        await next_event(opened)
        await written(lambda: Team.objects.filter(pk=team.pk).update(private=True))
        await asyncio.sleep(2)
        [entry] = await asyncio.to_thread(say, bus, 7)
        while (await next_event(opened))["id"] != entry:
            pass  # Where the stream begins; it does not end, as a member is told as before.
        began = asyncio.get_running_loop().time()
        await written(team.members.remove, teammate)
        assert await ends(opened)
        assert asyncio.get_running_loop().time() - began < 1 + BUSY_S
        assert (await client.head(URL)).status_code == 404

    asyncio.run(story())
