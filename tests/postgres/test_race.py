"""Two web processes and three workers on one PostgreSQL: everybody pushes, one job runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

import psutil
import redis
from celery import Celery

from backend.run.setting import free_port
from jobs.protocol import events_key
from tests.postgres.conftest import Server

ROOT = Path(__file__).resolve().parents[2]
WORKERS = ("one", "two", "three")
PATIENCE_S = 240.0


class Site:
    """The web processes, asked in turn with one token."""

    def __init__(self, ports: list[int], secret: str) -> None:
        self._ports, self._secret = ports, secret

    def ask(self, number: int, path: str, method: str = "GET", body: object = None) -> tuple[int, dict]:
        url = f"http://127.0.0.1:{self._ports[number % len(self._ports)]}{path}"
        headers = {"Authorization": f"Bearer {self._secret}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@contextmanager
def _process(environment: dict[str, str], log: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_up(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _jobs(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any("lonely_job" in word for word in words) and any(str(home) in word for word in words):
            found.append(process)
    return found


def test_one_job_runs_whoever_pushes(  # noqa: PLR0915  (one story, told in order)
    postgres: Server, redis_url: str, tmp_path: Path
) -> None:
    client: redis.Redis = redis.Redis.from_url(redis_url, decode_responses=True)
    client.flushall()
    environment = {
        **os.environ,
        "REDIS_URL": redis_url,
        "MILLRACE_HOME": str(tmp_path),
        "DATABASE_URL": postgres.fresh("race"),
        "DJANGO_SETTINGS_MODULE": "tests.postgres.race_settings",
        "PYTHONPATH": str(ROOT),
    }

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    run("manage.py", "migrate", "--verbosity", "0")
    known = json.loads(run("-m", "tests.postgres.race_setup").splitlines()[-1])
    ports = [free_port(), free_port()]
    broker = Celery(broker=redis_url)
    deadline = monotonic() + PATIENCE_S
    with ExitStack() as stack:
        stack.callback(lambda: [process.kill() for process in _jobs(tmp_path)])
        for port in ports:
            web = ("-m", "uvicorn", "backend.asgi:application", "--port", str(port), "--lifespan", "off")
            stack.enter_context(_process(environment, tmp_path / f"web-{port}.log", *web))
        for name in WORKERS:
            worker = ("-m", "celery", "-A", "backend.celery:app", "worker", "--pool", "solo", "-n", name)
            stack.enter_context(_process(environment, tmp_path / f"{name}.log", *worker))
        while not (all(map(_is_up, ports)) and len(broker.control.ping(timeout=1.0)) == len(WORKERS)):
            assert monotonic() < deadline, "the processes do not answer"
        site = Site(ports, known["secret"])
        threads = stack.enter_context(ThreadPoolExecutor(8))

        def push(path: str, times: int, body: object = None) -> list[int]:
            def one(number: int) -> int:
                return site.ask(number, path, "POST", {} if body is None else body)[0]

            return list(threads.map(one, range(times)))

        def wait_for(what: str) -> dict:
            """Until the topology is active; every round wakes all workers."""
            last = "0-0"
            while monotonic() < deadline:
                for _ in WORKERS:
                    broker.send_task("topologies.supervise")
                document = site.ask(0, "/api/topologies/race/")[1]
                if document["deployment"]["state"] == "active" and document["state"] == "running":
                    return document
                reply = client.xread({events_key("race"): last}, block=1000)
                last = reply[0][1][-1][0] if reply else last
            raise AssertionError(f"{what}: {document}")

        deploys = push(f"/api/queries/{known['query']}/deploy/", 6, {"topology": "race"})
        assert set(deploys) <= {202, 409}
        assert 202 in deploys
        first = wait_for("deployed")["run"]["id"]
        assert len(site.ask(0, "/api/runs/")[1]) == 1

        assert set(push("/api/topologies/race/restart/", 4)) == {202}
        while site.ask(1, "/api/topologies/race/")[1]["run"]["id"] == first:
            assert monotonic() < deadline, "not restarted"
            for _ in WORKERS:
                broker.send_task("topologies.supervise")
            client.xread({events_key("race"): "$"}, block=200)
        wait_for("restarted")

        (job,) = _jobs(tmp_path)
        job.kill()
        while site.ask(0, "/api/topologies/race/")[1]["run"]["pid"] == job.pid:
            assert monotonic() < deadline, "not launched again"
            for _ in WORKERS:
                broker.send_task("topologies.supervise")
            client.xread({events_key("race"): "$"}, block=200)
        wait_for("launched again")

        checkpoint = tmp_path / "topologies" / "race" / "checkpoint"
        runs = site.ask(0, "/api/runs/")[1]
        assert sorted(path.name for path in checkpoint.glob("double-*")) == []
        # Every launch has its row, and every row was launched once.
        assert sorted(path.name for path in checkpoint.glob("launched-*")) == sorted(
            f"launched-{one['id']}" for one in runs
        )
        assert len(_jobs(tmp_path)) == 1
