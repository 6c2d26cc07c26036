"""A subscription as server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from backend.errors import MillraceError
from backend.live.sse.admission import Admission, no_longer_hold
from backend.live.sse.frames import BEAT, RETRY
from backend.live.subscription.cursor import Cursor
from backend.live.subscription.pages import Page, as_json, read_page
from backend.topologies.models import TopologyQuery

POLL_SECONDS = 0.25
"""Between two looks for a new batch."""
_BEAT_SECONDS = 15.0
_CHECK_SECONDS = 0.5
"""Between two looks at whether the subscriber may stay, and the query is where it was."""
PAGE_ROWS = 500


@dataclass(frozen=True, slots=True)
class Subscribed:
    """What a subscriber was let in for."""

    query_id: int
    query: str
    topology: str


async def subscription_frames(
    subscribed: Subscribed, cursor: Cursor, admission: Admission
) -> AsyncGenerator[bytes]:
    """Results from the cursor on, each page an event whose id is the cursor behind it.

    It ends with an event `gone` when what follows is no longer kept, or the query has moved.
    """
    yield RETRY
    checked_at = sent_at = time.monotonic()
    while True:
        try:
            page = await asyncio.to_thread(
                read_page, subscribed.topology, subscribed.query, cursor, PAGE_ROWS
            )
        except MillraceError as error:
            yield gone_frame(str(error))
            return
        now = time.monotonic()
        if page.batches:
            yield await asyncio.to_thread(page_frame, page)
            cursor, sent_at = page.cursor, now
        elif now - sent_at > _BEAT_SECONDS:
            sent_at = now
            yield BEAT
        if now - checked_at > _CHECK_SECONDS:
            checked_at = now
            ended = await sync_to_async(_ended, thread_sensitive=False)(subscribed, admission)
            if ended is not None:
                if ended:
                    yield gone_frame(ended)
                return
        if not page.batches:
            cursor = page.cursor
            await asyncio.sleep(POLL_SECONDS)


def _ended(subscribed: Subscribed, admission: Admission) -> str | None:
    """Why the stream ends, empty for one who may no longer listen; None if it goes on."""
    try:
        if no_longer_hold({admission}):
            return ""
        name = (
            TopologyQuery.objects.filter(query=subscribed.query_id)
            .values_list("topology__name", flat=True)
            .first()
        )
        if name == subscribed.topology:
            return None
        return f"{subscribed.topology} no longer answers {subscribed.query}"
    finally:
        close_old_connections()


def page_document(page: Page) -> dict[str, object]:
    """A page as JSON has it."""
    return {
        "columns": [{"name": field.name, "type": str(field.type)} for field in page.table.schema],
        "rows": as_json(page.table),
        "batches": list(page.batches),
        "cursor": str(page.cursor),
        "more": page.more,
    }


def page_frame(page: Page) -> bytes:
    data = json.dumps(page_document(page), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"id: {page.cursor}\nevent: results\ndata: {data}\n\n".encode()


def gone_frame(reason: str) -> bytes:
    return f"event: gone\ndata: {json.dumps({'detail': reason}, ensure_ascii=False)}\n\n".encode()
