"""Listeners: where they begin, what they hear, what is left of them."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.live.queries import folded, live_state
from backend.live.sse import hub as hubs
from backend.live.sse import listener as listeners
from backend.live.sse.connection_limits import SLOTS
from backend.live.sse.frames import RESET, event_frame
from backend.live.sse.hub import Hub, hub
from backend.live.sse.listener import MOST_WAITING_FRAMES, Listener
from backend.live.sse.replay_buffer import MOST_BEHIND_EVENTS
from backend.live.state import LiveState
from backend.topologies.models import Topology
from jobs.protocol import EVENTS, AnyEvent, entry_order
from tests.api.live.events import event
from tests.api.live.listening import (
    KEY,
    NOBODY,
    PATIENCE_S,
    is_idle,
    next_event,
    open_stream,
    readers,
    say,
    session,
    until,
)
from tests.runtime.live import RedisServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("flights", "_nobody_listens")]


@pytest.mark.parametrize("past", [3, 5000])
def test_without_an_id_a_stream_begins_with_the_present(past: int, teammate: User, bus: redis.Redis) -> None:
    newest = say(bus, *range(past))[-1]

    async def story() -> None:
        async with aclosing(await open_stream(await session(teammate))) as stream:
            assert await next_event(stream) == {"event": "reset", "data": "{}"}
            assert await next_event(stream) == {"id": newest}, "it comes back with this one"
            [following] = say(bus, past)
            assert (await next_event(stream))["id"] == following

    asyncio.run(story())


@pytest.mark.parametrize("behind", [MOST_BEHIND_EVENTS, MOST_BEHIND_EVENTS + 1, 20 * MOST_BEHIND_EVENTS])
@pytest.mark.parametrize("others", [False, True], ids=["alone", "with others"])
def test_who_is_too_far_behind_fetches_a_snapshot(
    teammate: User, bus: redis.Redis, behind: int, others: bool
) -> None:
    last, *missed = say(bus, *range(behind + 1))

    async def story() -> None:
        client = await session(teammate)
        async with aclosing(await open_stream(client)) as other:
            if others:
                await next_event(other)
            for given in (last, *(["0-0"] if behind > MOST_BEHIND_EVENTS else [])):
                async with aclosing(await open_stream(client, **{"Last-Event-ID": given})) as stream:
                    if behind > MOST_BEHIND_EVENTS:
                        assert (await next_event(stream))["event"] == "reset"
                    else:
                        assert [(await next_event(stream))["id"] for _ in missed] == missed

    asyncio.run(story())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), said=st.lists(event, max_size=12), others=st.booleans())
def test_a_snapshot_and_the_events_after_it_are_a_fresh_snapshot(
    flights: Topology, bus: redis.Redis, data: st.DataObject, said: list[AnyEvent], others: bool
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
            state = await sync_to_async(live_state)(flights)
            tell(said[snapshot_at:begun_at])
            async with _heard(mine, state.last_event_id) as stream:
                await anext(stream)
                tell(said[begun_at:])
                fresh = await sync_to_async(live_state)(flights)
                async with asyncio.timeout(PATIENCE_S):
                    while state.last_event_id != fresh.last_event_id:
                        entry, told = _read(await anext(stream))
                        assert entry_order(entry) > entry_order(state.last_event_id)
                        state = folded(state, [(entry, told)])
        assert is_idle(mine)
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
        offered = [f"id: {number}-0\n\n".encode() * 100 for number in range(1, 20 * MOST_WAITING_FRAMES)]
        for number, frame in enumerate(offered, start=1):
            slow.offer((number, 0), frame)
        assert len(slow._waiting) <= MOST_WAITING_FRAMES
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
        client = await session(teammate)
        task = asyncio.create_task(stuck(await open_stream(client)))
        healthy = await open_stream(client)
        heard: list[dict[str, str]] = []

        async def follow() -> None:
            async with aclosing(healthy):
                while "id" not in (last := await next_event(healthy)) or '"batch":10' not in last.get(
                    "data", ""
                ):
                    heard.append(last)

        following = asyncio.create_task(follow())
        await until(lambda: len(heard) == 2)
        say(bus, *range(10))
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(PATIENCE_S):
                await task
        say(bus, 10)
        await following
        assert [json.loads(one["data"])["batch"] for one in heard[2:]] == list(range(10))

    asyncio.run(story())


def test_one_reader_serves_all_listeners_and_nothing_is_left(
    teammate: User, outsider: User, bus: redis.Redis
) -> None:
    before = len(bus.client_list())

    async def story() -> None:
        idle = asyncio.all_tasks()
        clients = [await session(one) for one in (teammate, outsider)]
        opened = [await open_stream(clients[number % 2]) for number in range(30)]
        for one in opened:
            await next_event(one)
        assert len(SLOTS) == 30
        await until(lambda: readers(bus) == 1)
        [entry] = say(bus, 1)
        for one in opened:
            await next_event(one)
            assert (await next_event(one))["id"] == entry
        assert {one.get_name() for one in asyncio.all_tasks() - idle} == {
            "events of flights",
            "guard of the listeners",
        }
        for one in opened:
            await one.aclose()
        await until(lambda: asyncio.all_tasks() == idle)
        assert len(SLOTS) == 0
        assert is_idle(hub())

    asyncio.run(story())
    assert readers(bus) == 0
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
        client = await session(teammate)
        for _ in range(3):
            await leave(await open_stream(client))
        await until(lambda: asyncio.all_tasks() == idle and is_idle(hub()))
        await asyncio.sleep(0.3)
        SLOTS.take(0).give_back()
        assert len(SLOTS) == 0

    asyncio.run(story())
    assert readers(bus) == 0


@pytest.mark.parametrize("emptied", [False, True], ids=["kept", "emptied"])
def test_listeners_outlive_a_redis_that_goes_away(tmp_path: Path, settings: Any, emptied: bool) -> None:
    server = RedisServer(tmp_path)
    server.start()
    settings.REDIS_URL = f"redis://127.0.0.1:{server.port}/0"

    async def story() -> None:
        bus: redis.Redis = redis.Redis(port=server.port, decode_responses=True)
        say(bus, 1)
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
                [entry] = await asyncio.to_thread(say, bus, 2)
                assert _read(await anext(stream))[0] == entry
        bus.close()

    try:
        asyncio.run(story())
    finally:
        server.stop()
