"""`make run` itself: what is killed comes back, and nothing is left behind.

Without the demo, so without Spark; tests/faults/test_product.py has it with a job.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.started import ROOT, StartedProduct

ATTENTION = "millrace:attention"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def product(home: Path) -> Iterator[StartedProduct]:
    started = StartedProduct(home, MILLRACE_DEMO="0")
    started.wait_until_up()
    yield started
    started.stop()
    assert started.left() == []


@pytest.mark.parametrize(("word", "code"), [("--help", 0), ("--port=1", 2)])
def test_whoever_gives_it_words_starts_nothing(tmp_path: Path, word: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "backend.run", word],
        cwd=ROOT,
        env={**os.environ, "MILLRACE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code
    assert word in done.stdout + done.stderr
    assert not (tmp_path / "home").exists()


def wait_until_it_serves(product: StartedProduct) -> None:
    """Pages answer; and beat, Redis and worker do together what they are for: a periodic task was done."""

    def pages() -> bool:
        try:
            with urllib.request.urlopen(f"{product.url}/readyz", timeout=60) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    product.wait_for(pages)
    client = product.redis()
    before = client.hget(ATTENTION, "at")
    product.wait_for(lambda: client.hget(ATTENTION, "at") != before)
    client.close()


@pytest.mark.parametrize(
    "names",
    [("web",), ("worker",), ("beat",), ("redis",), ("worker", "redis"), ("web", "beat")],
    ids="+".join,
)
def test_what_is_killed_comes_back(product: StartedProduct, names: tuple[str, ...]) -> None:
    client = product.redis()
    client.set("test:kept", "by Redis' log")
    client.close()
    pids = {name: product.pid(name) for name in names}
    told = len(product.lines)
    product.kill(*names)
    for name, pid in pids.items():
        product.wait_for(lambda name=name, pid=pid: product.pid(name) != pid)  # type: ignore[misc]
    wait_until_it_serves(product)
    assert product.redis().get("test:kept") == b"by Redis' log"
    for name in names:
        own = [
            line for line in product.lines[told:] if line.startswith(f"{name:<10} ") and "answer" not in line
        ]
        assert len(own) == 2, own
        assert "was ended by SIGKILL; it is started again in " in own[0]
        assert "ready again" in own[1]


def test_a_redis_that_is_stopped_for_a_while_ends_nothing(product: StartedProduct) -> None:
    pids = {name: product.pid(name) for name in ("redis", "worker", "beat", "web")}
    os.kill(pids["redis"], signal.SIGSTOP)
    told = len(product.lines)
    product.wait_for(lambda: any("does not answer" in line for line in product.lines[told:]))
    os.kill(pids["redis"], signal.SIGCONT)
    wait_until_it_serves(product)
    assert {name: product.pid(name) for name in pids} == pids


def test_a_second_one_on_the_same_folder_is_refused(product: StartedProduct) -> None:
    second = StartedProduct(product.home, MILLRACE_DEMO="0")
    assert second.process.wait(60) == 2
    second.stop()
    assert "Millrace already runs on" in "".join(second.lines)
    wait_until_it_serves(product)


def test_nothing_is_left_when_the_supervisor_is_killed_and_the_next_one_waits_for_that(
    product: StartedProduct,
) -> None:
    """Last: it ends the product of the other tests."""
    product.process.kill()
    # At once, on the same port: what holds it is still being ended.
    environment = product.environment
    refused = subprocess.Popen(
        [sys.executable, "-m", "backend.run"],
        cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert refused.stdout is not None
    lines = []
    for line in refused.stdout:
        lines.append(line)
        if line.startswith("Millrace "):
            break
    else:
        pytest.fail("".join(lines))
    cleaned = [line for line in lines if line.startswith("cleanup")]
    assert not any("ended " in line for line in cleaned), "the guard was there for that"
    # Whoever looked at the console is gone, and Ctrl-C is pressed twice.
    refused.stdout.close()
    refused.send_signal(signal.SIGINT)
    time.sleep(0.2)
    refused.send_signal(signal.SIGINT)
    assert refused.wait(120) == 0
    assert product.left() == []
