"""The other side of the control plane: it asks for plans, and its messages do not always arrive."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import lru_cache

from jobs.protocol import Deploy
from tests.simulation.judging import require
from tests.simulation.network import Network
from tests.simulation.queries import Deployed, graph_of
from tests.simulation.schedule import Step


class ControlPlane:
    """What somebody wants a topology to do; whoever does something else is told again."""

    def __init__(self, wanted: Deployed, network: Network, seed: str) -> None:
        self.wanted = wanted
        self.counts: Counter[str] = Counter()
        self._network = network
        self._seed = seed
        self._messages: list[tuple[int, str]] = []
        """By the step in which they arrive."""
        self._sent_at = 0
        self._heard = "0-0"
        self._running = ""

    def begin(self, number: int, step: Step) -> None:
        """Say what a step has to say, and have what is due arrive in any order."""
        if step.deploy is not None:
            self.wanted = step.deploy
            fault = step.message
            if fault is not None:
                self.counts["a message is lost" if fault.lost else "a message is late or doubled"] += 1
            if fault is None or not fault.lost:
                due, copies = (number, 1) if fault is None else (number + fault.delay, fault.copies)
                self._messages += [(due + copy, deployment(self.wanted)) for copy in range(copies)]
            self._sent_at = number
        self._listen()
        if self._running and self._running != plan_id(self.wanted) and number > self._sent_at + 1:
            self._messages.append((number, deployment(self.wanted)))
            self._sent_at = number
            self.counts["a deployment is told again"] += 1
        arriving = [text for due, text in self._messages if due <= number]
        self._messages = [one for one in self._messages if one[0] > number]
        random.Random(f"{self._seed} {number} messages").shuffle(arriving)
        for text in arriving:
            self._network.tell(text)

    def _listen(self) -> None:
        for entry, text in self._network.events(self._heard):
            self._heard = entry
            event = json.loads(text)
            if event["type"] == "plan_switched":
                self._running = event["plan_id"]
            elif event["type"] == "deploy_refused":
                # The disk was full or failed; it is told again.
                require("OSError" in event["reason"], f"a plan is refused: {event['reason']}")
                self.counts["a plan is refused for want of a disk"] += 1


@lru_cache(maxsize=4096)
def plan_id(deployed: Deployed) -> str:
    """How the control plane knows a plan."""
    parts = (*deployed.queries, deployed.variation, deployed.slices, deployed.grids)
    return "-".join(map(str, parts)).replace(" ", "_")


@lru_cache(maxsize=4096)
def deployment(deployed: Deployed) -> str:
    """The message that asks for a plan."""
    graph = json.loads(graph_of(deployed).to_json())
    return Deploy(plan_id=plan_id(deployed), graph=graph).model_dump_json()
