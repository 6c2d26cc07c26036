"""Gaps in which jobs could not be heard.

Redis did not answer for a while, or no task looked after the jobs.

Whoever looks after the topologies notes in Redis that they do. After a gap between two such notes a job's
silence means nothing until it has had its time to speak again. (That Redis was started anew it says itself.)
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from backend.redis import connection

_KEY = "millrace:attention"


def note(now: datetime, limit: timedelta) -> None:
    """Say that topologies are looked after now; a gap is longer than `limit`.

    Only the first of several gaps in a row counts: where every round takes that long, a job that is silent
    must still be found.
    """
    at, since = _noted()
    moment = now.isoformat()
    if at is None or (now - datetime.fromisoformat(at) > limit and since != at):
        since = moment
    connection().hset(_KEY, mapping={"at": moment, "since": since or moment})


def was_away(now: datetime, limit: timedelta) -> bool:
    """Whether a job, silent for longer than `limit`, could not be heard in that time."""
    at, since = _noted()
    if at is None or since is None:
        return False
    # Nobody has looked after the gap yet, or somebody has, but too short a time ago.
    return now - datetime.fromisoformat(at) > limit or now - datetime.fromisoformat(since) <= limit


def _noted() -> tuple[str | None, str | None]:
    at, since = cast(list[str | None], connection().hmget(_KEY, "at", "since"))
    return at, since
