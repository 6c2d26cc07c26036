"""`python -m tests.load --minutes 1`: ten accounts explain cliques; what do the others notice?

    python -m tests.load --minutes 1
    python -m tests.load --minutes 2 --listeners 200 --strangers 50

The product runs as it is deployed: web, Redis, a Celery worker, beat, and with listeners a topology's job.
Ends with a line per endpoint, and with 1 if one in twenty of everybody else's requests takes half a second,
or of ingestion a second, or if anything goes on after those who asked have gone. The processors that each
part used say what the measurement is worth: what is not the product's took them from it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.load.cliques import (
    AT_ONCE,
    ATTACKERS,
    USUAL,
    Asked,
    Client,
    attack,
    ingest,
    make_streams,
    work,
)
from tests.load.listeners import listen
from tests.load.processors import Processors, processor_s
from tests.load.strangers import wander
from tests.soak.product import Product

MOST_S = 0.5
"""p95 of the requests of who asks for nothing hard."""
MOST_INGEST_S = 1.0
PEOPLE = 40
"""Accounts that share the pages that listen."""
ALONE_S = 10.0
OPENING_S = 5.0
"""In which all pages open at once, while one account works."""
RUNNING_S = 180.0
"""Until the topology's job runs."""
QUIET_S = 5.0
QUIET_CPU_S = 2.0
"""Processor time in `QUIET_S` after everybody has gone: what web, worker, beat and Redis need anyway."""


@dataclass(frozen=True, slots=True)
class Load:
    seconds: float
    attackers: int
    listeners: int
    strangers: int


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load")
    parser.add_argument("--minutes", type=float, default=1.0, help="of load (1)")
    parser.add_argument("--attackers", type=int, default=ATTACKERS, help=f"accounts ({ATTACKERS})")
    parser.add_argument(
        "--listeners", type=int, default=0, help="pages that listen to a topology's events (0)"
    )
    parser.add_argument("--strangers", type=int, default=0, help="that ask without an account (0)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-load-") as folder:
        product = Product(Path(folder))
        try:
            product.start()
            load = Load(60.0 * given.minutes, given.attackers, given.listeners, given.strangers)
            return _measured(product, load)
        finally:
            product.end()


def _measured(product: Product, load: Load) -> int:
    names = ["usual", "sender", *(f"hard{n}" for n in range(load.attackers))]
    people = [f"person{n}" for n in range(min(PEOPLE, load.listeners))]
    usual, sender, *others = product.run("-m", "tests.load.accounts", *names, *people).split()
    hard, watching = others[: load.attackers], others[load.attackers :]
    make_streams(product.url, sender)
    asked = {kind: Asked() for kind in ("alone", "opening", "usual", "ingest", "strangers", "attack")}
    _say(f"{_web(product)} before")
    stop = threading.Event()
    _together([(work, (product.url, usual, stop, asked["alone"]))], stop, ALONE_S)
    heard = None
    if load.listeners:
        _deploy(product, usual)
        heard = _listening(product, watching, load.listeners, OPENING_S + load.seconds)
        stop = threading.Event()
        _together([(work, (product.url, usual, stop, asked["opening"]))], stop, OPENING_S)
    stop = threading.Event()
    tasks: list[tuple[Any, tuple[Any, ...]]] = [
        (work, (product.url, usual, stop, asked["usual"])),
        (ingest, (product.url, sender, stop, asked["ingest"])),
    ]
    tasks += [(wander, (product.url, n, stop, asked["strangers"])) for n in range(load.strangers)]
    tasks += [
        (attack, (product.url, token, 100 * n + m, stop, asked["attack"]))
        for n, token in enumerate(hard)
        for m in range(AT_ONCE)
    ]
    used = Processors(product)
    _together(tasks, stop, load.seconds)
    _say(f"{_web(product)} at the end of the load; processors used meanwhile: {used}")
    before = sum(processor_s(product).values())
    time.sleep(QUIET_S)
    after = sum(processor_s(product).values()) - before
    for kind, one in asked.items():
        _say(f"\n{kind}: {len(one.answers)} requests, {_statuses(one)}")
        for path in sorted({each.asked for each in one.answers}):
            _say(f"  {path:<34} {_line(one.seconds(path))}")
        _say(f"  {'all':<34} {_line(one.seconds())}")
    if heard is not None:
        heard.join()
    faults = list(_faults(asked, after))
    _say(f"\n{after:.1f} s of processor time in the {QUIET_S:g} s after everybody had gone")
    _say("\n".join(faults) if faults else "within all bounds")
    return 1 if faults else 0


def _faults(asked: dict[str, Asked], after: float) -> list[str]:
    found = []
    for kind, most in (("opening", MOST_S), ("usual", MOST_S), ("ingest", MOST_INGEST_S)):
        p95 = _at(asked[kind].seconds(), 0.95)
        if p95 > most:
            found.append(f"FAILED {kind}: p95 is {p95:.2f} s, expected at most {most:g} s")
        wrong = [one for one in asked[kind].answers if not 200 <= one.status < 300]
        if wrong:
            found.append(f"FAILED {kind}: {len(wrong)} answers such as {wrong[0]}, expected 2xx")
    bad = [one for one in asked["attack"].answers if one.status >= 500 and one.status != 503]
    if bad:
        found.append(f"FAILED attack: {len(bad)} answers such as {bad[0]}, expected a refusal")
    if after > QUIET_CPU_S:
        found.append(f"FAILED: {after:.1f} s of processor time go on, expected at most {QUIET_CPU_S:g} s")
    return found


def _together(tasks: Sequence[tuple[Any, tuple[Any, ...]]], stop: threading.Event, seconds: float) -> None:
    threads = [threading.Thread(target=task, args=arguments) for task, arguments in tasks]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()


def _deploy(product: Product, token: str) -> None:
    """A topology that runs: what a job takes to start is not what its pages cost."""
    client = Client(product.url, token)
    _, body = client.ask("POST", "/api/queries/", {"name": "usual", "sql": USUAL})
    query = json.loads(body)["id"]
    client.ask("POST", f"/api/queries/{query}/deploy/", {"topology": "load"})
    client.close()
    give_up_at = time.monotonic() + RUNNING_S
    while True:
        _, body = client.ask("GET", "/api/topologies/load/snapshot/")
        client.close()
        if json.loads(body)["state"] == "running":
            return
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"the topology does not run: {body.decode()}")
        time.sleep(1.0)


def _listening(product: Product, watching: Sequence[str], count: int, seconds: float) -> threading.Thread:
    """Pages of many accounts that listen to a topology of another one, from a thread of their own."""
    headers = [{"Authorization": f"Bearer {watching[n % len(watching)]}"} for n in range(count)]

    def hear() -> None:
        _say(f"\nlisteners: {asyncio.run(listen(product.url, 'load', headers, seconds))}")

    thread = threading.Thread(target=hear)
    thread.start()
    return thread


def _web(product: Product) -> str:
    process = psutil.Process(product.pid("web"))
    below = process.children(recursive=True)
    held = sum(one.memory_info().rss for one in (process, *below)) / 1e6
    return f"web: {process.num_threads()} threads, {len(below)} processes below it, {held:.0f} MB"


def _statuses(asked: Asked) -> str:
    counts = Counter(one.status for one in asked.answers)
    return ", ".join(f"{count} x {status or 'gone'}" for status, count in sorted(counts.items()))


def _line(seconds: Sequence[float]) -> str:
    return (
        f"p50 {1000 * _at(seconds, 0.5):6.0f} ms  p95 {1000 * _at(seconds, 0.95):6.0f} ms  "
        f"max {1000 * _at(seconds, 1.0):6.0f} ms  n {len(seconds)}"
    )


def _at(seconds: Sequence[float], share: float) -> float:
    return seconds[min(len(seconds) - 1, int(share * len(seconds)))] if seconds else 0.0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
