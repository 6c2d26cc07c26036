"""How often a controller switches plans, by what data do: `python -m tests.unit.adaptation [SEEDS]`.

Counts of two queries over four streams are drawn, batch by batch, around what the plan in use would count.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from optimizer.adaptation import LearntStatistics
from tests.unit.adaptation.replaying import AFTER, BEFORE, EPOCH, Replay, policy, world

EPOCHS = 40
DAY, NIGHT = world(0.002, 0.02), world(0.02, 0.002)


def _cycle(epoch: int, period: int) -> LearntStatistics:
    return DAY if epoch % period < period / 2 else NIGHT


def _drift(share: float) -> LearntStatistics:
    return world(0.005 * 0.002**share, 0.0075 * 66.7**share)


DATA: Mapping[str, tuple[float, Callable[[int], LearntStatistics]]] = {
    "noise": (0.0, lambda _: world(0.0050, 0.0052)),
    "noise, epochs vary by a quarter": (0.25, lambda _: world(0.0050, 0.0052)),
    "noise, epochs vary by half": (0.5, lambda _: world(0.0050, 0.0052)),
    "jump in epoch 10": (0.0, lambda epoch: AFTER if epoch >= 10 else BEFORE),
    "drift over 20 epochs": (0.0, lambda epoch: _drift(min(1.0, epoch / 20))),
    "a day of 2 epochs": (0.0, partial(_cycle, period=2)),
    "a day of 3 epochs": (0.0, partial(_cycle, period=3)),
    "a day of 4 epochs": (0.0, partial(_cycle, period=4)),
    "a day of 16 epochs": (0.0, partial(_cycle, period=16)),
}


def switches(folder: Path, data: Callable[[int], LearntStatistics], uneven: float, seed: int) -> list[int]:
    """The epochs that begin with another plan."""
    replay = Replay(folder, policy(), world=lambda batch: data(batch // EPOCH), seed=seed, uneven=uneven)
    replay.run(EPOCHS * EPOCH).controller.close()
    return replay.switches


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name, (uneven, data) in DATA.items():
        with tempfile.TemporaryDirectory() as folder:
            found = [switches(Path(folder) / str(seed), data, uneven, seed) for seed in range(seeds)]
        sys.stdout.write(f"| {name} | {', '.join(str(len(one)) for one in found)} | {found[0]} |\n")


if __name__ == "__main__":
    main()
