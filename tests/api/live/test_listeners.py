"""Listeners: where they begin, what they hear, how many there may be, what is left of them."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.utils import OperationalError
from django.test import AsyncClient
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.throttling import AnonRateThrottle

from backend.live.queries import folded, live_state
from backend.live.sse import hub as hubs
from backend.live.sse import listener as listeners
from backend.live.sse.admission import Admission
from backend.live.sse.connection_limits import SLOTS
from backend.live.sse.frames import RESET, event_frame
from backend.live.sse.hub import Hub, hub
from backend.live.sse.listener import MOST_WAITING, Listener
from backend.live.sse.replay_buffer import MOST_BEHIND
from backend.live.state import LiveState
from backend.tokens.actions import create_token, revoke_token
from backend.tokens.models import Token
from backend.topologies.models import Topology
from jobs.protocol import EVENTS, AnyEvent, Heartbeat, entry_order, events_key
from tests.api.live.events import BEGIN, RUNS, event
from tests.runtime.live import RedisServer

pytestmark = pytest.mark.django_db(transaction=True)
KEY = events_key("flights")
URL = "/api/topologies/flights/events/"
NOBODY = Admission(0, None, None)
PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def topology(db: None) -> Topology:
    return Topology.objects.create(name="flights", planner={"method": "greedy"}, job={"trigger_ms": 500})


def _is_idle(hub: hubs.Hub) -> bool:
    return not hub._channels


@pytest.fixture(autouse=True)
def _nobody_listens() -> Iterator[None]:
    """Before and behind every test: places of other tests' dropped answers lapse."""
    SLOTS._held.clear()
    yield
    assert not hubs._HUBS or all(map(_is_idle, hubs._HUBS.values()))


def _beat(batch: int) -> Heartbeat:
    return Heartbeat(run=RUNS[0], at=BEGIN, state="running", batch=batch)


def _say(bus: redis.Redis, *batches: int) -> list[str]:
    pipeline = bus.pipeline()
    for batch in batches:
        pipeline.xadd(KEY, {"message": _beat(batch).model_dump_json()})
    return pipeline.execute()


async def _written(write: Callable[..., Any], *given: Any) -> Any:
    """What a call returns that writes. In the tests' database in memory nobody waits for a table that another
    thread is reading, as the guard of open streams does."""
    while True:
        try:
            return await sync_to_async(write)(*given)
        except OperationalError as error:
            if "locked" not in str(error):
                raise
            await asyncio.sleep(0.01)


async def _session(account: User) -> AsyncClient:
    client = AsyncClient()
    await _written(client.force_login, account)
    return client


async def _open(client: AsyncClient, **headers: str) -> AsyncGenerator[bytes, None]:
    response = await client.get(URL, headers=headers)
    assert response.status_code == 200, response.content
    return _served(response)


async def _served(response: Any) -> AsyncGenerator[bytes, None]:
    """The response as `django.core.handlers.asgi` takes it."""
    try:
        async with aclosing(aiter(response)) as content:
            async for part in content:
                yield part
    finally:
        await sync_to_async(response.close)()


async def _next(stream: AsyncGenerator[bytes, None]) -> dict[str, str]:
    """The next event, or the next id without one."""
    async with asyncio.timeout(PATIENCE_S):
        async for chunk in stream:
            lines = [line.partition(": ") for line in chunk.decode().strip().split("\n")]
            fields = {name: value for name, _, value in lines if name in ("id", "event", "data")}
            if fields:
                return fields
    raise AssertionError("the stream ended")


async def _ends(stream: AsyncGenerator[bytes, None]) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            async for _ in stream:
                pass
        return True
    return False


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.02)


def _readers(bus: redis.Redis) -> int:
    """Connections to Redis that wait for events."""
    return sum(one["cmd"] == "xread" for one in bus.client_list())


def test_without_an_id_a_stream_begins_with_the_present(teammate: User, bus: redis.Redis) -> None:
    newest = _say(bus, *range(5000))[-1]

    async def story() -> None:
        async with aclosing(await _open(await _session(teammate))) as stream:
            assert await _next(stream) == {"event": "reset", "data": "{}"}
            assert await _next(stream) == {"id": newest}, "it comes back with this one"
            [following] = _say(bus, 5000)
            assert (await _next(stream))["id"] == following

    asyncio.run(story())


@pytest.mark.parametrize("behind", [MOST_BEHIND, MOST_BEHIND + 1, 20 * MOST_BEHIND])
@pytest.mark.parametrize("others", [False, True], ids=["alone", "with others"])
def test_who_is_too_far_behind_fetches_a_snapshot(
    teammate: User, bus: redis.Redis, behind: int, others: bool
) -> None:
    last, *missed = _say(bus, *range(behind + 1))

    async def story() -> None:
        client = await _session(teammate)
        async with aclosing(await _open(client)) as other:
            if others:
                await _next(other)
            for given in (last, *(["0-0"] if behind > MOST_BEHIND else [])):
                async with aclosing(await _open(client, **{"Last-Event-ID": given})) as stream:
                    if behind > MOST_BEHIND:
                        assert (await _next(stream))["event"] == "reset"
                    else:
                        assert [(await _next(stream))["id"] for _ in missed] == missed

    asyncio.run(story())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), said=st.lists(event, max_size=12), others=st.booleans())
def test_a_snapshot_and_the_events_after_it_are_a_fresh_snapshot(
    topology: Topology, bus: redis.Redis, data: st.DataObject, said: list[AnyEvent], others: bool
) -> None:
    """Wherever the snapshot was made and the stream began, alone or behind somebody who listens longer."""
    bus.delete(KEY)
    snapshot_at, begun_at = sorted(data.draw(st.integers(0, len(said)), label="at") for _ in range(2))

    def tell(some: list[AnyEvent]) -> None:
        for one in some:
            bus.xadd(KEY, {"message": one.model_dump_json(indent=1)})

    async def story() -> tuple[LiveState, LiveState]:
        mine = Hub()
        async with _heard(mine, None) if others else _nothing() as other:
            if other is not None:
                await anext(other)
            tell(said[:snapshot_at])
            state = await sync_to_async(live_state)(topology)
            tell(said[snapshot_at:begun_at])
            async with _heard(mine, state.last_event_id) as stream:
                await anext(stream)
                tell(said[begun_at:])
                fresh = await sync_to_async(live_state)(topology)
                async with asyncio.timeout(PATIENCE_S):
                    while state.last_event_id != fresh.last_event_id:
                        entry, told = _read(await anext(stream))
                        assert entry_order(entry) > entry_order(state.last_event_id)
                        state = folded(state, [(entry, told)])
        assert _is_idle(mine)
        return state, fresh

    state, fresh = asyncio.run(story())
    assert state == fresh


@asynccontextmanager
async def _heard(of: Hub, last_id: str | None) -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
    async with aclosing(of.frames("flights", last_id, NOBODY)) as stream:
        yield stream


@asynccontextmanager
async def _nothing() -> AsyncGenerator[None, None]:
    yield None


@pytest.fixture(autouse=True)
def _anybody_may_stay(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Where the hub is asked without an account."""
    if "snapshot_and" in request.node.name or "redis" in request.node.name:
        monkeypatch.setattr(hubs, "no_longer_hold", lambda _: set())


def _read(frame: bytes) -> tuple[str, AnyEvent]:
    fields = dict(line.split(": ", 1) for line in frame.decode().strip().split("\n"))
    return fields["id"], EVENTS.validate_json(fields["data"])


@given(event)
def test_a_frame_holds_the_event_whatever_its_writer_made_of_it(one: AnyEvent) -> None:
    frame = event_frame("7-0", one.model_dump_json(indent=2))
    assert frame is not None
    head, data, *rest = frame.decode().split("\ndata: ")
    assert not rest
    assert head == f"id: 7-0\nevent: {one.type}"
    assert json.loads(data) == one.model_dump(mode="json")
    assert data.count("\n") == 2
    assert data.endswith("\n\n")


def test_a_slow_listener_has_bounded_frames_and_then_a_reset() -> None:
    async def story() -> None:
        slow = Listener(NOBODY)
        slow.begin([], (0, 0))
        offered = [f"id: {number}-0\n\n".encode() * 100 for number in range(1, 20 * MOST_WAITING)]
        for number, frame in enumerate(offered, start=1):
            slow.offer((number, 0), frame)
        assert len(slow._waiting) <= MOST_WAITING
        stream = slow.frames()
        assert await anext(stream) == RESET, "it is told that it missed some"
        rest = [await anext(stream) for _ in range(len(slow._waiting))]
        assert rest == offered[-len(rest) :], "and nothing is missing after that"

    asyncio.run(story())


def test_a_listener_that_takes_nothing_is_torn_down(
    monkeypatch: pytest.MonkeyPatch, teammate: User, bus: redis.Redis
) -> None:
    monkeypatch.setattr(listeners, "STALLED_SECONDS", 0.3)
    monkeypatch.setattr(listeners, "LEAVING_SECONDS", 0.1)
    monkeypatch.setattr(hubs, "CHECK_SECONDS", 0.1)

    async def stuck(stream: AsyncGenerator[bytes, None]) -> None:
        async with aclosing(stream):
            async for _ in stream:
                await asyncio.sleep(3600)

    async def story() -> None:
        client = await _session(teammate)
        task = asyncio.create_task(stuck(await _open(client)))
        healthy = await _open(client)
        heard: list[dict[str, str]] = []

        async def follow() -> None:
            async with aclosing(healthy):
                while "id" not in (last := await _next(healthy)) or '"batch":10' not in last.get("data", ""):
                    heard.append(last)

        following = asyncio.create_task(follow())
        await _until(lambda: len(heard) == 2)
        _say(bus, *range(10))
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(PATIENCE_S):
                await task
        _say(bus, 10)
        await following
        assert [json.loads(one["data"])["batch"] for one in heard[2:]] == list(range(10))

    asyncio.run(story())


def test_one_reader_serves_all_listeners_and_nothing_is_left(
    teammate: User, outsider: User, bus: redis.Redis
) -> None:
    before = len(bus.client_list())

    async def story() -> None:
        idle = asyncio.all_tasks()
        clients = [await _session(one) for one in (teammate, outsider)]
        opened = [await _open(clients[number % 2]) for number in range(30)]
        for one in opened:
            await _next(one)
        assert len(SLOTS) == 30
        await _until(lambda: _readers(bus) == 1)
        [entry] = _say(bus, 1)
        for one in opened:
            await _next(one)
            assert (await _next(one))["id"] == entry
        assert {one.get_name() for one in asyncio.all_tasks() - idle} == {
            "events of flights",
            "guard of the listeners",
        }
        for one in opened:
            await one.aclose()
        await _until(lambda: asyncio.all_tasks() == idle)
        assert len(SLOTS) == 0
        assert _is_idle(hub())

    asyncio.run(story())
    assert _readers(bus) == 0
    # Those of the process' pool stay, which are bounded.
    assert len(bus.client_list()) <= before + 1


async def _closed(stream: AsyncGenerator[bytes, None]) -> None:
    await anext(stream)
    await stream.aclose()


async def _forgotten(stream: AsyncGenerator[bytes, None]) -> None:
    await anext(stream)
    await anext(stream)


async def _cancelled_while_it_waits(stream: AsyncGenerator[bytes, None]) -> None:
    async def read() -> None:
        async for _ in stream:
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0.3)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _cancelled_while_it_begins(stream: AsyncGenerator[bytes, None]) -> None:
    task = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _never_begun(stream: AsyncGenerator[bytes, None]) -> None:
    pass


async def _raised_into(stream: AsyncGenerator[bytes, None]) -> None:
    await anext(stream)
    with suppress(ZeroDivisionError):
        await stream.athrow(ZeroDivisionError())


@pytest.mark.parametrize(
    "leave",
    [
        _closed,
        _forgotten,
        _cancelled_while_it_waits,
        _cancelled_while_it_begins,
        _never_begun,
        _raised_into,
    ],
)
def test_nothing_is_left_however_an_answer_ends(
    teammate: User,
    bus: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
    leave: Callable[[AsyncGenerator[bytes, None]], Awaitable[None]],
) -> None:
    monkeypatch.setattr("backend.live.sse.connection_limits.UNUSED_SECONDS", 0.2)

    async def story() -> None:
        idle = asyncio.all_tasks()
        client = await _session(teammate)
        for _ in range(3):
            await leave(await _open(client))
        await _until(lambda: asyncio.all_tasks() == idle and _is_idle(hub()))
        await asyncio.sleep(0.3)
        SLOTS.take(0).give_back()
        assert len(SLOTS) == 0

    asyncio.run(story())
    assert _readers(bus) == 0


def test_an_account_has_so_many_streams_and_others_have_theirs(
    teammate: User, outsider: User, settings: Any, bus: redis.Redis
) -> None:
    settings.MILLRACE_LISTENERS_ACCOUNT = 3.0
    settings.MILLRACE_LISTENERS = 5.0

    async def story() -> None:
        client, other = await _session(teammate), await _session(outsider)
        _, secret = await _written(create_token, teammate, "program")
        program = {"Authorization": f"Bearer {secret}"}
        opened = [await _open(client), await _open(client), await _open(AsyncClient(), **program)]
        for one in opened:
            await _next(one)
        for asking, headers in ((client, {}), (AsyncClient(), program)):
            refused = await asking.get(URL, headers=headers)
            assert refused.status_code == 429, "an account's tokens are the account's"
            assert refused["Retry-After"] == "10"
            assert refused.json()["code"] == "too-many-listeners"
            assert "3 live connections" in refused.json()["detail"]
            asked = await asking.head(URL, headers=headers)
            assert (asked.status_code, asked["Retry-After"], asked.content) == (429, "10", b"")
        opened += [await _open(other), await _open(other)]
        for one in opened[3:]:
            await _next(one)
        assert (await other.get(URL)).json()["code"] == "listeners-full"
        await opened[0].aclose()
        await _until(lambda: len(SLOTS) == 4)
        assert (await client.head(URL)).status_code == 200
        opened[0] = await _open(client)
        await _next(opened[0])
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
        client = await _session(teammate)
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
    revoke_token(one.token)


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
        token, secret = await _written(create_token, teammate, "program")
        client = await _session(teammate)
        opened = {
            "session": await _open(client),
            "token": await _open(AsyncClient(), Authorization=f"Bearer {secret}"),
            "somebody else's": await _open(await _session(outsider)),
        }
        for stream in opened.values():
            await _next(stream)
            await _next(stream)
        await asyncio.sleep(2 * hubs.CHECK_SECONDS)
        await _written(happens, Watcher(teammate, client, token))
        began = asyncio.get_running_loop().time()
        for name in ended:
            assert await _ends(opened[name]), name
        # Half a second, and what a busy machine adds; no beat has passed.
        assert hubs.CHECK_SECONDS <= 0.5
        assert asyncio.get_running_loop().time() - began < listeners.BEAT_SECONDS / 3
        [entry] = _say(bus, 1)
        for name in opened.keys() - ended:
            assert (await _next(opened[name]))["id"] == entry, name
            await opened[name].aclose()

    asyncio.run(story())


def test_a_session_that_is_only_written_to_goes_on(teammate: User, bus: redis.Redis) -> None:
    async def story() -> None:
        client = await _session(teammate)
        async with aclosing(await _open(client)) as stream:
            await _next(stream)
            await _next(stream)

            def write() -> None:
                session = client.session
                session["theme"] = "dark"
                session.save()

            await _written(write)
            await asyncio.sleep(3 * hubs.CHECK_SECONDS)
            [entry] = _say(bus, 1)
            assert (await _next(stream))["id"] == entry

    asyncio.run(story())


def test_a_database_that_cannot_be_asked_is_borne_for_a_while(
    teammate: User, bus: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(hubs, "UNKNOWN_SECONDS", 1.0)

    async def story() -> None:
        async with aclosing(await _open(await _session(teammate))) as stream:
            await _next(stream)
            monkeypatch.setattr(hubs, "_checked", lambda _: None)
            await asyncio.sleep(0.5)
            [entry] = _say(bus, 1)
            await _next(stream)
            assert (await _next(stream))["id"] == entry
            assert await _ends(stream), "nobody stays for ever unasked"

    asyncio.run(story())


@pytest.mark.parametrize("emptied", [False, True], ids=["kept", "emptied"])
def test_listeners_outlive_a_redis_that_goes_away(tmp_path: Path, settings: Any, emptied: bool) -> None:
    server = RedisServer(tmp_path)
    server.start()
    settings.REDIS_URL = f"redis://127.0.0.1:{server.port}/0"

    async def story() -> None:
        bus: redis.Redis = redis.Redis(port=server.port, decode_responses=True)
        _say(bus, 1)
        async with _heard(Hub(), None) as stream:
            assert [await anext(stream) for _ in range(2)][-1] == RESET
            first = (await anext(stream)).decode()
            assert first.startswith("id: ")
            await asyncio.to_thread(server.stop)
            if emptied:
                # A server keeps its log of changes as a file or, since Redis 7, in a folder.
                for kept in (*tmp_path.glob("appendonly*"), *tmp_path.glob("*.rdb")):
                    shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
            await asyncio.to_thread(server.start)
            async with asyncio.timeout(PATIENCE_S):
                if emptied:
                    assert await anext(stream) == RESET
                [entry] = await asyncio.to_thread(_say, bus, 2)
                assert _read(await anext(stream))[0] == entry
        bus.close()

    try:
        asyncio.run(story())
    finally:
        server.stop()
