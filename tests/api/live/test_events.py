"""Server-sent events, as a browser reads them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import redis
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient

from backend.topologies.models import Topology
from jobs.protocol import Heartbeat, events_key
from tests.api.live.events import BEGIN, RUNS

pytestmark = pytest.mark.django_db(transaction=True)
KEY = events_key("flights")
URL = "/api/topologies/flights/events/"


def _say(bus: redis.Redis, batch: int) -> str:
    event = Heartbeat(run=RUNS[0], at=BEGIN, state="running", batch=batch)
    entry: str = bus.xadd(KEY, {"message": event.model_dump_json(indent=1)})
    return entry


class Stream:
    """The events of one connection."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def next(self) -> dict[str, str]:
        """The next event's fields, within half a minute; comments and the retry time are passed over."""
        return await asyncio.wait_for(self._next(), 30)

    async def _next(self) -> dict[str, str]:
        while True:
            chunk = (await anext(self._chunks)).decode()
            assert chunk.endswith("\n\n")
            lines = [line.partition(": ") for line in chunk.strip().split("\n") if not line.startswith(":")]
            fields = {name: value for name, _, value in lines}
            if "event" in fields:
                return fields


async def _open(user: User, last_id: str | None = None, header: str | None = None) -> Stream:
    client = AsyncClient()
    await sync_to_async(client.force_login)(user)
    headers = {"Last-Event-ID": header} if header else {}
    response = await client.get(URL, {"last_event_id": last_id} if last_id else {}, headers=headers)
    assert response.status_code == 200
    assert response["Content-Type"] == "text/event-stream"
    return Stream(aiter(response.streaming_content))


@pytest.fixture
def topology(db: None) -> Topology:
    return Topology.objects.create(name="flights", planner={"method": "greedy"}, job={"trigger_ms": 500})


def test_events_come_from_where_the_client_stopped(
    teammate: User, topology: Topology, bus: redis.Redis
) -> None:
    async def story() -> None:
        first, second = _say(bus, 1), _say(bus, 2)
        stream = await _open(teammate, last_id=first)
        event = await stream.next()
        assert (event["id"], event["event"]) == (second, "heartbeat")
        assert json.loads(event["data"])["batch"] == 2
        third = _say(bus, 3)
        assert (await stream.next())["id"] == third
        # A browser that comes back sends the header; it wins over the address.
        again = await _open(teammate, last_id=first, header=second)
        assert (await again.next())["id"] == third

    asyncio.run(story())


def test_lost_events_are_admitted(teammate: User, topology: Topology, bus: redis.Redis) -> None:
    async def story() -> None:
        first = _say(bus, 1)
        _say(bus, 2)
        newest = _say(bus, 3)
        bus.xtrim(KEY, maxlen=1, approximate=False)
        stream = await _open(teammate, last_id=first)
        assert await stream.next() == {"event": "reset", "data": "{}"}
        following = _say(bus, 4)
        assert (await stream.next())["id"] == following
        assert newest < following
        # An id from before Redis lost everything lies behind the stream's end.
        ahead = await _open(teammate, last_id="9999999999999-0")
        assert (await ahead.next())["event"] == "reset"

    asyncio.run(story())


def test_who_may(teammate: User, topology: Topology) -> None:
    async def story() -> None:
        client = AsyncClient()
        assert (await client.get(URL)).status_code == 403
        await sync_to_async(client.force_login)(teammate)
        assert (await client.get("/api/topologies/none/events/")).status_code == 404
        assert (await client.post(URL)).status_code == 405
        for bad in ("x", "1-x", "-1", "1-2-3", "9" * 60):
            assert (await client.get(URL, {"last_event_id": bad})).status_code == 400

    asyncio.run(story())


def test_without_redis_it_is_a_status(teammate: User, topology: Topology, settings: object) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]

    async def story() -> int:
        client = AsyncClient()
        await sync_to_async(client.force_login)(teammate)
        return (await client.get(URL)).status_code

    assert asyncio.run(story()) == 503
