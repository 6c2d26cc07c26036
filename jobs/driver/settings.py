"""How a topology's batches are worked on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def wall_clock_us() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Settings:
    output: Path | None = None
    """Where results and dead letters go as files; None for no files."""
    passing: bool = False
    """True if files are deleted once a sink has them."""
    redis_url: str | None = None
    idle_timeout_us: int | None = None
    """A stream that is silent for so long stops holding the watermark back; None never."""
    epoch_batches: int = 16
    tail: int = 0
    """Newest results per query and task that come to the driver."""
    most: int | None = None
    """How many combinations a step may make in one batch and task; None for any number."""
    clock: Callable[[], int] = wall_clock_us
    """Wall clock, microseconds since 1970. It may be set back or forth at any time."""
