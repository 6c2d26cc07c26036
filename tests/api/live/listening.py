"""What tests of listeners do: write events, open a stream of them, read on, wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

import redis
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.utils import OperationalError
from django.test import AsyncClient

from backend.live.sse import hub as hubs
from backend.live.sse.admission import Admission, TopologySeen
from backend.topologies.sight import WHOLE
from jobs.protocol import Heartbeat, events_key
from tests.api.live.events import BEGIN, RUNS

KEY = events_key("flights")
URL = "/api/topologies/flights/events/"
NOBODY = Admission(0, None, None, TopologySeen("flights", WHOLE))
PATIENCE_S = 20.0


def is_idle(hub: hubs.Hub) -> bool:
    return not hub._channels


def beat(batch: int) -> Heartbeat:
    return Heartbeat(run=RUNS[0], at=BEGIN, state="running", batch=batch)


def say(bus: redis.Redis, *batches: int) -> list[str]:
    pipeline = bus.pipeline()
    for batch in batches:
        pipeline.xadd(KEY, {"message": beat(batch).model_dump_json()})
    return pipeline.execute()


async def written(write: Callable[..., Any], *given: Any) -> Any:
    """What a call returns that writes. In the tests' database in memory nobody waits for a table that another
    thread is reading, as the guard of open streams does."""
    while True:
        try:
            return await sync_to_async(write)(*given)
        except OperationalError as error:
            if "locked" not in str(error):
                raise
            await asyncio.sleep(0.01)


async def session(account: User) -> AsyncClient:
    client = AsyncClient()
    await written(client.force_login, account)
    return client


async def open_stream(client: AsyncClient, **headers: str) -> AsyncGenerator[bytes, None]:
    response = await client.get(URL, headers=headers)
    assert response.status_code == 200, response.content
    return served(response)


async def served(response: Any) -> AsyncGenerator[bytes, None]:
    """The response as `django.core.handlers.asgi` takes it."""
    try:
        async with aclosing(aiter(response)) as content:
            async for part in content:
                yield part
    finally:
        await sync_to_async(response.close)()


async def next_event(stream: AsyncGenerator[bytes, None]) -> dict[str, str]:
    """The next event, or the next id without one."""
    async with asyncio.timeout(PATIENCE_S):
        async for chunk in stream:
            lines = [line.partition(": ") for line in chunk.decode().strip().split("\n")]
            fields = {name: value for name, _, value in lines if name in ("id", "event", "data")}
            if fields:
                return fields
    raise AssertionError("the stream ended")


async def ends(stream: AsyncGenerator[bytes, None]) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            async for _ in stream:
                pass
        return True
    return False


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.02)


def readers(bus: redis.Redis) -> int:
    """Connections to Redis that wait for events."""
    return sum(one["cmd"] == "xread" for one in bus.client_list())
