"""Figure 7.7 of the dissertation from this machine's measurements, as SVG."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "millrace"

from matplotlib import pyplot as plt  # noqa: E402  (the backend has to be chosen first)

from tests.bench.adaptive.replays import Replayed  # noqa: E402
from tests.bench.adaptive.scenarios import EPOCH_BATCHES, EPOCH_S, Scenario  # noqa: E402


def draw(folder: Path, scenario: Scenario, adaptive: Replayed, static: Replayed) -> str:
    """Tuples sent and seconds per batch over event time; returns the file's name."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 4.8), sharex=True)
    step = EPOCH_S / EPOCH_BATCHES
    for name, marker, run in (("static", ".", static), ("adaptive", "+", adaptive)):
        at = [(batch + 1) * step for batch in range(len(run.sent))]
        above.plot(at, run.sent, marker=marker, label=name, linewidth=1)
        # The first batch starts Spark's Python workers.
        below.plot(at[1:], run.batch_seconds[1:], marker=marker, label=name, linewidth=1)
    above.set_yscale("log")
    above.set_ylabel("tuples sent per batch")
    below.set_ylabel("seconds per batch")
    below.set_ylim(bottom=0)
    below.set_xlabel("seconds of event time")
    for axes in (above, below):
        axes.axvline(scenario.jump_s, color="grey", linestyle=":", label="data changes")
        for number, epoch in enumerate(adaptive.switched_epochs):
            label = "plan changes" if number == 0 else None
            axes.axvline(epoch * EPOCH_S, color="grey", linestyle="--", linewidth=1, label=label)
    above.legend(fontsize="small")
    figure.tight_layout()
    name = f"adaptive-{scenario.name}.svg"
    figure.savefig(folder / name, metadata={"Date": None})
    plt.close(figure)
    return name
