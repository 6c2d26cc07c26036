"""compose's own commands, run on this machine with compose's own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pyspark
import pytest
import redis

from backend.run.setting import free_port
from tests.api.conftest import redis_url  # noqa: F401
from tests.docker import compose
from tests.docker.compose import ROOT

PATIENCE_S = 240.0
GIVEN = {
    **compose.example(),
    **dict.fromkeys(("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD"), "given"),
    "MILLRACE_METRICS_TOKEN": "scrape",
}


def _environment(service: str, home: Path, broker: str) -> dict[str, str]:
    """The service's settings; only where things are is another place."""
    declared = compose.load().services[service].environment
    values = {name: compose.expanded(value, GIVEN) for name, value in declared.items()}
    elsewhere = {
        "MILLRACE_HOME": str(home),
        "REDIS_URL": broker,
        "DATABASE_URL": f"sqlite:///{home / 'millrace.sqlite3'}",
        "PROMETHEUS_MULTIPROC_DIR": str(home / "metrics"),
    }
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        **values,
        **{name: value for name, value in elsewhere.items() if name in values},
        **{"MILLRACE_HOME": str(home)},
    }


def _command(service: str, **replaced: str) -> list[str]:
    words = compose.load().services[service].command
    assert words is not None
    python = [sys.executable if word == "python" else word for word in words]
    for option, value in replaced.items():
        python[python.index(f"--{option}") + 1] = value
    return python


@contextmanager
def _started(command: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
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


def _wait(process: subprocess.Popen[bytes], log: Path, is_true: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE_S
    while not is_true():
        assert process.poll() is None, log.read_text()
        assert monotonic() < deadline, log.read_text()


@pytest.fixture
def home(tmp_path: Path, redis_url: str) -> Path:  # noqa: F811
    (tmp_path / "metrics").mkdir()
    done = subprocess.run(
        _command("migrate"),
        cwd=ROOT,
        env=_environment("migrate", tmp_path, redis_url),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_web_service(home: Path, redis_url: str) -> None:  # noqa: F811
    port = free_port()
    environment = _environment("web", home, redis_url)
    # Here the test is the proxy.
    assert environment["MILLRACE_TRUSTED_PROXIES"] == "172.31.253.0/29"
    environment["MILLRACE_TRUSTED_PROXIES"] = "127.0.0.1"
    log = home / "web.log"
    with _started(_command("web", port=str(port), host="127.0.0.1"), environment, log) as process:
        probe = [sys.executable, "-m", "backend.observation.probe", f"http://127.0.0.1:{port}/readyz"]

        def is_ready() -> bool:
            return subprocess.run(probe, cwd=ROOT, stderr=subprocess.DEVNULL, check=False).returncode == 0

        _wait(process, log, is_ready)

        def ask(path: str, **headers: str) -> tuple[int, dict[str, str], str]:
            # http.client, because a redirection is an answer here.
            import http.client

            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", path, headers={"Host": "localhost", **headers})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, found, answer.read().decode()

        status, headers, _ = ask("/login/")
        assert (status, headers["location"]) == (301, "https://localhost/login/")
        status, headers, _ = ask("/login/", **{"X-Forwarded-Proto": "https"})
        assert status == 200
        assert headers["strict-transport-security"] == "max-age=3600"
        assert "secure" in headers["set-cookie"].lower()
        assert ask("/login/", Host="elsewhere.example")[0] == 400
        status, _, text = ask("/metrics", Authorization="Bearer scrape")
        assert status == 200
        assert "millrace_request_seconds_count" in text


def test_the_worker_service(home: Path, redis_url: str) -> None:  # noqa: F811
    port = free_port()
    environment = _environment("worker", home, redis_url) | {"MILLRACE_METRICS_PORT": str(port)}
    stage = next(
        line for line in (ROOT / "docker" / "Dockerfile").read_text().split("FROM ") if " AS worker\n" in line
    )
    words = stage[stage.rindex("CMD [") + 5 : stage.rindex("]")].replace("\\\n", "").split(",")
    command = [word.strip().strip('"') for word in words]
    command[0] = sys.executable
    log = home / "worker.log"
    with _started(command, environment, log) as process:
        written = stage[stage.index('"sh", "-c", "') + 13 :].split('"]')[0]
        health = written.replace("python", sys.executable, 1)

        def is_ready() -> bool:
            return (
                subprocess.run(
                    ["sh", "-c", health], cwd=ROOT, env=environment, capture_output=True, check=False
                ).returncode
                == 0
            )

        _wait(process, log, is_ready)

        def has_worked() -> bool:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                text = answer.read().decode()
            return 'millrace_task_seconds_count{state="SUCCESS",task="topologies.plan_failed_again"}' in text

        # A worker that starts plans again what failed: its children's metrics are seen from outside.
        _wait(process, log, has_worked)


def test_the_beat_service(home: Path, redis_url: str) -> None:  # noqa: F811
    command = _command("beat", schedule=str(home / "schedule"))
    log = home / "beat.log"
    queue = redis.Redis.from_url(redis_url)
    queue.delete("celery")
    with _started(command, _environment("beat", home, redis_url), log) as process:
        # No worker takes it: what the beat sends lies in the broker's list.
        _wait(process, log, lambda: queue.blpop(["celery"], timeout=1) is not None)


def test_the_spark_services(tmp_path: Path) -> None:
    """A worker finds its master, and both are healthy by compose's own word."""
    port, pages = free_port(), {"spark-master": free_port(), "spark-worker": free_port()}
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}

    def command(service: str, **replaced: str) -> list[str]:
        words = _command(service, **{"webui-port": str(pages[service]), **replaced})
        return [str(home / "bin" / "spark-class"), *(compose.expanded(word, GIVEN) for word in words[1:])]

    def is_healthy(service: str) -> bool:
        check = compose.load().services[service].healthcheck
        assert check is not None
        asked = check.test[-1].replace("8080", str(pages[service])).replace("8081", str(pages[service]))
        words = [sys.executable, "-c", asked]
        return subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def has_a_worker() -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{pages['spark-master']}/json/", timeout=10) as answer:
            return bool(json.load(answer)["aliveworkers"] == 1)

    starting = command("spark-master", host="127.0.0.1", port=str(port))
    log = tmp_path / "master.log"
    with _started(starting, environment, log) as master:
        _wait(master, log, lambda: is_healthy("spark-master"))
        starting = command("spark-worker", **{"work-dir": str(tmp_path / "work")})
        starting[-1] = f"spark://127.0.0.1:{port}"
        log = tmp_path / "worker.log"
        with _started(starting, environment, log) as worker:
            _wait(worker, log, lambda: is_healthy("spark-worker") and has_a_worker())
