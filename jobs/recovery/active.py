"""What a checkpoint tells the source's planner of the plan in use.

Apart from the checkpoint, because the planner is a process of its own that needs none of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, model_validator

from optimizer.logical.source import Source


@dataclass(frozen=True, slots=True)
class Active:
    """What the source's planner has to know of the newest change."""

    change: int
    streams: tuple[str, ...]
    sources: dict[str, Source] = field(default_factory=dict)
    """By stream; the others are written to Redis."""
    settling: int = 0
    """How many batches without tuples it takes until all that the watermark lets go is answered: what waits
    falls due in one, what is derived of it comes in with the next and falls due in the one behind."""

    @model_validator(mode="before")
    @classmethod
    def _with_topics(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Until sources were connectors' they were topics."""
        topics = document.get("topics", {})
        if document.get("holds"):
            document = {"settling": 1, **document}
        return {"sources": {stream: {"kafka": topic} for stream, topic in topics.items()}, **document}


ACTIVE: TypeAdapter[Active] = TypeAdapter(Active)
