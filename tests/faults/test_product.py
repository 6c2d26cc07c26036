"""`make run` with its demo, whose parts are killed and stopped while its job works; and every way to end it.

That no result is lost or doubled meanwhile is judged by the soak, which breaks the same parts.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from jobs.recovery.manifest import CommitLog
from tests.api.run.test_product import wait_until_it_serves
from tests.runtime.live import RedisServer
from tests.started import PATIENCE_S, StartedProduct

NO_DEMO = {"MILLRACE_DEMO": "0"}
KILLED = (
    *("web", "worker", "beat", "feeder", "redis"),
    *("web+redis", "worker+redis", "worker+feeder", "beat+web", "redis+feeder"),
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedProduct]:
    started = StartedProduct(tmp_path_factory.mktemp("home"))
    started.wait_until_up()
    started.wait_for(lambda: any("topology flights runs" in line for line in started.lines))
    yield started
    assert started.stop() == 0
    assert started.left() == []


def job(product: StartedProduct) -> psutil.Process:
    note = product.home / "topologies" / "flights" / "checkpoint" / "job.json"
    return psutil.Process(json.loads(note.read_bytes())["pid"])


def wait_for_work(product: StartedProduct) -> None:
    """Batches are committed that have tuples in them, after everything else works again."""
    wait_until_it_serves(product)
    log = CommitLog(product.home / "topologies" / "flights" / "checkpoint")

    def accepted() -> int:
        last = log.last()
        return 0 if last is None else sum(stream.accepted for stream in last.streams.values())

    before = accepted()
    product.wait_for(lambda: accepted() > before)


@pytest.mark.parametrize("names", KILLED)
def test_whatever_is_killed_the_same_job_goes_on(demo: StartedProduct, names: str) -> None:
    wait_for_work(demo)
    before, pids = job(demo), {name: demo.pid(name) for name in names.split("+")}
    demo.kill(*pids)
    for name, pid in pids.items():
        demo.wait_for(lambda name=name, pid=pid: demo.pid(name) != pid)  # type: ignore[misc]
    wait_for_work(demo)
    assert job(demo) == before
    assert before.is_running()


def test_redis_is_stopped_for_twenty_seconds(demo: StartedProduct) -> None:
    """Longer than a job may be silent for."""
    wait_for_work(demo)
    before, redis = job(demo), demo.pid("redis")
    os.kill(redis, signal.SIGSTOP)
    time.sleep(20)
    os.kill(redis, signal.SIGCONT)
    wait_for_work(demo)
    assert (demo.pid("redis"), job(demo)) == (redis, before)
    assert before.is_running()


def test_the_job_itself_is_killed(demo: StartedProduct) -> None:
    wait_for_work(demo)
    before, told = job(demo), len(demo.lines)
    before.kill()
    demo.wait_for(lambda: any("topology flights runs" in line for line in demo.lines[told:]))
    wait_for_work(demo)
    assert job(demo) != before


def test_nothing_of_the_demo_is_left_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    product = StartedProduct(tmp_path)
    product.wait_until_up()
    product.wait_for(lambda: any("topology flights runs" in line for line in product.lines))
    driver = job(product)
    product.process.kill()
    product.process.wait()
    wait_until_nothing_is_left(product)
    assert not driver.is_running()


def wait_until_nothing_is_left(product: StartedProduct) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while left := product.left():
        assert time.monotonic() < give_up_at, left
        time.sleep(0.1)


@pytest.mark.parametrize("moment", ["cleanup", "redis", "worker", "web", "Millrace"])
@pytest.mark.parametrize("signals", ["SIGINT", "SIGINT SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_every_end_leaves_nothing(tmp_path: Path, signals: str, moment: str) -> None:
    product = StartedProduct(tmp_path, **NO_DEMO)
    if moment == "cleanup":
        time.sleep(0.5)  # Somewhere in its first steps, wherever that is.
    else:
        product.wait_for(lambda: any(line.startswith(moment) for line in product.lines))
    for name in signals.split():
        product.process.send_signal(getattr(signal, name))
    code = product.process.wait(PATIENCE_S)
    # Before it has said what to do with a signal, the system's default is right as well.
    early = -getattr(signal, signals.split(maxsplit=1)[0])
    assert code in ((early,) if signals == "SIGKILL" else (0, early) if moment == "cleanup" else (0,))
    wait_until_nothing_is_left(product)


def test_a_redis_of_its_own_is_restarted(tmp_path: Path) -> None:
    """The one that REDIS_URL names is nobody's part: it is waited for."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    product = StartedProduct(tmp_path / "home", **NO_DEMO, REDIS_URL=f"redis://127.0.0.1:{server.port}/0")
    try:
        product.wait_until_up()
        for _ in range(2):
            server.stop()
            told = len(product.lines)
            product.wait_for(lambda told=told: any("not answer" in line for line in product.lines[told:]))
            time.sleep(5)
            # What dies now cannot be ready before Redis is back, and nobody gives it up for that.
            product.kill("worker")
            server.start()
            wait_until_it_serves(product)
            product.wait_for(lambda: product.is_ready("worker"))
        assert product.stop() == 0
        assert product.left() == []
    finally:
        product.process.kill()
        server.stop()


def test_it_ends_with_a_clear_message_when_a_part_cannot_be_started_again(tmp_path: Path) -> None:
    product = StartedProduct(tmp_path, **NO_DEMO)
    product.wait_until_up()
    web = product.pid("web")
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        os.kill(web, signal.SIGKILL)
        while True:
            try:
                thief.bind(("127.0.0.1", product.web_port))
                break
            except OSError:
                time.sleep(0.01)
        thief.listen()
        # Nobody answers there, and nobody of ours listens.
        assert product.process.wait(PATIENCE_S) == 1
    product.stop()
    said = "".join(product.lines)
    assert "web cannot be started: it ended with code 3, 4 times in a row; the end of " in said, said
    assert "address already in use" in said
    assert product.left() == []


def test_a_closed_terminal_ends_nothing_under_nohup(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        product = StartedProduct(tmp_path, **NO_DEMO)
    finally:
        signal.signal(signal.SIGHUP, before)
    product.wait_until_up()
    product.process.send_signal(signal.SIGHUP)
    wait_until_it_serves(product)
    assert product.stop() == 0
    assert product.left() == []
