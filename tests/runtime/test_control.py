"""Control messages as a job reads them, from a real Redis."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from jobs.control_plane.channel import Incoming, connect
from jobs.protocol import Control, Deploy, Stop, control_key
from tests.runtime.live import RedisServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()


def test_of_plans_that_come_together_the_last_usable_one_is_carried_out(server: RedisServer) -> None:
    seen: list[str] = []
    ended = threading.Event()

    def handle(message: Control) -> bool:
        if isinstance(message, Stop):
            if message.mode == "now":
                ended.set()
            return True
        seen.append(message.plan_id)
        if message.plan_id == "broken":
            raise RuntimeError("cannot be carried out")
        return message.plan_id != "refused"

    refused: list[str] = []
    incoming = Incoming(
        connect(f"redis://127.0.0.1:{server.port}/0"),
        "t",
        handle,
        lambda plan_id, reason: refused.append(plan_id),
    )
    incoming.start()
    client = redis.Redis(port=server.port)
    started = client.time()
    while client.time()[1] // 1000 == started[1] // 1000:
        pass  # what is written in the very millisecond of the start may be from before it
    messages = [Deploy(plan_id=p, graph={}) for p in ("old", "older", "refused", "broken")]
    with client.pipeline() as together:
        for message in (*messages, Stop(mode="drain"), Deploy(plan_id="late", graph={}), Stop(mode="now")):
            together.xadd(control_key("t"), {"message": message.model_dump_json()})
        together.execute()
    assert ended.wait(600)
    incoming.close()
    assert seen == ["broken", "refused", "older", "late"]
    assert refused == ["broken"]
