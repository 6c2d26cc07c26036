"""Queries that are deployed and taken back all the time, through the API."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

from backend.client.errors import Refused, Unreachable
from backend.client.millrace import Millrace
from tests.oracle.workload import GeneratedQuery
from tests.soak.product import TOPOLOGY
from tests.soak.questions import draw_query

ALWAYS = 4
"""The first queries are never taken back, so every stream is always read."""
_MOST = 8
"""Further queries at a time."""
_AGAIN = 0.3
"""How often a query that was there before comes back instead of a new one."""
_PATIENCE_S = 900.0


class Churn(threading.Thread):
    """Changes what is deployed every `every_s` seconds. FILE gets one JSON object per change."""

    def __init__(self, client: Millrace, seed: int, every_s: float, file: Path) -> None:
        super().__init__(name="churn", daemon=True)
        self._client, self._seed, self._every_s, self._file = client, seed, every_s, file
        self._chance = random.Random(f"churn {seed}")
        self._ending = threading.Event()
        self.asked: dict[str, GeneratedQuery] = {}
        """Every query that ever was, by name."""
        self._deployed: list[str] = []
        self.error: BaseException | None = None

    def begin(self) -> None:
        """Deploys as many as there will ever be, and waits until they are answered: what is measured then
        holds later too."""
        for _ in range(ALWAYS + _MOST):
            self._add(new=True)
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            topology = self._client.topology(TOPOLOGY)
            if topology.deployment == "active" and topology.state in ("running", "idle"):
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"{TOPOLOGY} does not answer: {topology}")
            time.sleep(0.2)

    def run(self) -> None:
        try:
            while not self._ending.wait(self._every_s):
                extra = self._deployed[ALWAYS:]
                if extra and (len(extra) >= _MOST or self._chance.random() < len(extra) / _MOST / 2):
                    self._remove(self._chance.choice(extra))
                else:
                    gone = [name for name in self.asked if name not in self._deployed]
                    self._add(new=not gone or self._chance.random() >= _AGAIN)
        except BaseException as error:
            self.error = error
            raise

    def end(self) -> None:
        self._ending.set()
        self.join()

    def _add(self, *, new: bool) -> None:
        if new:
            query = draw_query(self._seed, len(self.asked))
            self.asked[query.name] = query
        else:
            gone = [name for name in self.asked if name not in self._deployed]
            query = self.asked[self._chance.choice(gone)]
        self._patiently(lambda: self._client.deploy(query.name, query.text, TOPOLOGY))
        self._deployed.append(query.name)
        self._note("deploy", query.name)

    def _remove(self, name: str) -> None:
        # Asked twice because the first answer was lost, it says that it is not deployed.
        self._patiently(lambda: self._client.undeploy(name), done="not-deployed")
        self._deployed.remove(name)
        self._note("undeploy", name)

    def _patiently(self, ask: Callable[[], object], done: str | None = None) -> None:
        """Asks again while the web process is being started or Redis is away."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while True:
            try:
                ask()
                return
            except Refused as refused:
                if done is not None and refused.code == done:
                    return
                if refused.status < 500 or time.monotonic() > give_up_at:
                    raise
            except Unreachable:
                if time.monotonic() > give_up_at:
                    raise
            time.sleep(0.5)

    def _note(self, action: str, name: str) -> None:
        with self._file.open("a") as noted:
            noted.write(json.dumps({"at": time.time(), "action": action, "query": name}) + "\n")
