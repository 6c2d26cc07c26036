"""What a run tells the people who read its log.

Spark, Java and Python workers write into the same one.
"""

from __future__ import annotations

import logging
import sys

from jobs.protocol import (
    BatchCompleted,
    BatchFailed,
    BatchGivenUp,
    BatchWaits,
    DeployRefused,
    Event,
    JobStarted,
    JobStopped,
    PlanSwitched,
    ShapesChanged,
)

_LOG = logging.getLogger("driver")
SLOW_BATCH_S = 10.0
"""A batch that takes longer is told.

Usual ones are not, nor are epochs: some of them end in every minute, and pages have them.
"""


def begin_log() -> None:
    """Write the driver's log records to stderr.

    Java and the Python workers write there, too.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        # `jobs.protocol.log_lines` knows its lines by this.
        format="%(asctime)s driver %(levelname)s %(message)s",
        force=True,
    )


def log_event(event: Event) -> None:
    """Write what happened into the log, unless it happens all the time."""
    told = line_of(event)
    if told is not None:
        _LOG.log(*told)


def line_of(event: Event) -> tuple[int, str] | None:
    """A level and a line for what happened; None for what happens all the time.

    A process that fails has its own last words (`jobs.cli.ending.last_words`).

    >>> from datetime import UTC, datetime
    >>> line_of(JobStopped(run="1", at=datetime(2026, 1, 1, tzinfo=UTC), reason="told to stop"))
    (20, 'stopped: told to stop')
    """
    match event:
        case JobStarted():
            return logging.INFO, (
                f"started under plan {event.plan_id}, process {event.pid}, batch {event.batch}"
            )
        case BatchCompleted() if event.seconds > SLOW_BATCH_S:
            return logging.WARNING, (
                f"batch {event.batch} took {event.seconds:.1f} s for {event.tuples_in} tuples"
            )
        case PlanSwitched():
            return logging.INFO, f"plan {event.plan_id} from batch {event.batch} on: {event.cause}"
        case ShapesChanged():
            return logging.INFO, f"stores {', '.join(sorted(event.stores))} took other shapes"
        case BatchFailed():
            return logging.ERROR, f"batch {event.batch} failed repeatedly: {event.error}"
        case BatchWaits():
            return logging.WARNING, f"batch {event.batch} waits: {event.reason}"
        case BatchGivenUp():
            return logging.WARNING, f"batch {event.batch} exceeded its limit and waits for another plan"
        case DeployRefused():
            return logging.ERROR, f"plan {event.plan_id} is refused: {event.reason}"
        case JobStopped():
            return logging.INFO, f"stopped: {event.reason}"
        case _:
            return None
