"""Stories of concurrent requests, told on one event loop within bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

PATIENCE_SECONDS = 20.0


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Tell a story; it fails if it takes longer than anybody has patience for."""

    async def told() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await story()

    asyncio.run(told())


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that other requests bring about."""
    while not condition():
        await asyncio.sleep(0.01)
