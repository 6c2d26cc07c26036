"""Figure 7.7 of the dissertation from this machine's measurements, as SVG."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "millrace"

from matplotlib import pyplot as plt  # noqa: E402  (the backend has to be chosen first)
from matplotlib.ticker import StrMethodFormatter  # noqa: E402

from tests.bench.adaptive.replays import Replayed  # noqa: E402
from tests.bench.adaptive.scenarios import EPOCH_BATCHES, EPOCH_S, Scenario  # noqa: E402

_WIDE = 20
"""From this factor between most and fewest tuples on a linear axis hides one of them."""


def draw(folder: Path, scenario: Scenario, adaptive: Replayed, static: Replayed) -> str:
    """Tuples sent and seconds per batch over event time; returns the file's name."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.2, 5.2), sharex=True)
    step = EPOCH_S / EPOCH_BATCHES
    # Both do the same until the plan changes: the wide line shows behind the narrow one.
    for name, width, colour, run in (
        ("static", 4, "#e0a060", static),
        ("adaptive", 1.5, "#1f4e9c", adaptive),
    ):
        at = [(batch + 1) * step for batch in range(len(run.sent))]
        above.plot(at, run.sent, label=name, linewidth=width, color=colour)
        # The first batch starts Spark's Python workers.
        below.plot(at[1:], run.batch_seconds[1:], label=name, linewidth=width, color=colour)
    most, fewest = max(*static.sent, *adaptive.sent), min(*static.sent, *adaptive.sent)
    if most > _WIDE * max(1, fewest):
        above.set_yscale("log")
    else:
        above.set_ylim(bottom=0)
    above.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    above.set_ylabel("tuples sent per batch")
    below.set_ylabel("seconds per batch")
    below.set_ylim(bottom=0)
    below.set_xlabel("seconds of event time")
    for axes in (above, below):
        axes.axvline(scenario.jump_s, color="grey", linestyle=":", label="data changes")
        for number, epoch in enumerate(adaptive.switched_epochs):
            label = "plan changes" if number == 0 else None
            axes.axvline(epoch * EPOCH_S, color="grey", linestyle="--", linewidth=1, label=label)
        axes.axvline(
            scenario.recovered_epoch * EPOCH_S,
            color="#2a7d4f",
            linestyle="-.",
            linewidth=1,
            label="two epochs and a window later",
        )
    above.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    figure.tight_layout()
    name = f"adaptive-{scenario.name}.svg"
    figure.savefig(folder / name, metadata={"Date": None})
    plt.close(figure)
    return name
