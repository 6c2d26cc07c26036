"""A streaming job's process for the supervisor's tests: it speaks jobs.protocol and joins nothing.

It takes the arguments of `python -m jobs run`. What it does wrong is said by MILLRACE_TEST_JOB:
`crash` fails after JobStarted, `hungry` fails for good unless it has a memory limit, `silent` stops its
heartbeats, `slow` has not started yet, `mute` dies without a word, `deaf` ignores that it is told to stop.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

import redis

from jobs.protocol import (
    CONTROL,
    BatchCompleted,
    Deploy,
    Heartbeat,
    JobFailed,
    JobStarted,
    JobStopped,
    PlanSwitched,
    control_key,
    events_key,
)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in (
        "topology",
        "run",
        "redis",
        "checkpoint",
        "plan",
        "trigger-ms",
        "batch-rows",
        "idle-timeout",
        "epoch-batches",
        "most-combinations",
        "storage-weight",
    ):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--memory-limit", type=int)
    options = parser.parse_args()
    fault = os.environ.get("MILLRACE_TEST_JOB", "")
    client: redis.Redis = redis.Redis.from_url(options.redis, decode_responses=True)

    def say(kind: type, **fields: object) -> None:
        message = kind(run=options.run, at=datetime.now(UTC), **fields)
        client.xadd(events_key(options.topology), {"message": message.model_dump_json()})

    plan_id = Path(options.plan).stem
    json.loads(Path(options.plan).read_text())
    print("started with", plan_id, flush=True)
    if fault == "mute":
        print("out of luck", flush=True)
        sys.exit(3)
    if fault == "slow":
        signal.pause()
    if fault == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(JobStarted, pid=os.getpid(), host=socket.gethostname(), plan_id=plan_id, batch=0)
    if fault == "crash":
        say(JobFailed, error="the disk is full", detail="Traceback ...")
        sys.exit(1)
    if fault == "hungry" and options.memory_limit is None:
        say(JobFailed, error="too little memory", detail="Traceback ...", final=True)
        sys.exit(2)
    if fault == "silent":
        signal.pause()
    position, batch = "0-0", 0
    while True:
        say(Heartbeat, state="running", batch=batch)
        for _, entries in client.xread({control_key(options.topology): position}, block=100) or ():
            for position, fields in entries:  # noqa: B007
                message = CONTROL.validate_json(fields["message"])
                if isinstance(message, Deploy):
                    plan_id = message.plan_id
                    say(PlanSwitched, plan_id=plan_id, epoch=1, batch=batch, cause="deploy")
                elif fault != "deaf":
                    say(JobStopped, reason=message.mode)
                    return
        batch += 1
        say(
            BatchCompleted,
            batch=batch,
            epoch=1,
            plan_id=plan_id,
            seconds=0.1,
            tuples_in=1,
            backlog=0,
            level_seconds=[0.1],
            streams={},
            stores={},
            edges={},
            queries={},
            resident_bytes=None if options.memory_limit is None else options.memory_limit // 2,
        )


if __name__ == "__main__":
    main()
