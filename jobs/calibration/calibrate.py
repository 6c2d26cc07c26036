"""Measure the designs on this machine, and fit the coefficients."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from jobs.calibration.designs import BATCH_S, DESIGNS, MEASURED, Design
from jobs.calibration.fit import Observed, fitted, work
from jobs.calibration.processor_time import TimedTopology
from optimizer.estimate import loads
from optimizer.search.coefficients import Coefficients
from optimizer.search.widths import TEXT_BYTES

_TURNS = 2
"""Times that each design is measured; the least counts, as whatever disturbs a run makes it longer."""


def calibrate(
    scratch: Path, told: Callable[[str], None], designs: Sequence[Design] = DESIGNS
) -> tuple[Coefficients, dict[str, float]]:
    """Coefficients of this machine, and how far they are off.

    They are off in the median, and for nine of ten designs.

    Args:
        scratch: an empty folder, best in memory.
        told: hears of each design.
        designs: what to measure.
    """
    observed = []
    for number, design in enumerate(designs, start=1):
        observed.append(_measured(design, scratch / str(number)))
        told(f"[{number}/{len(designs)}] {design.name}: {observed[-1].cores:.4f} cores")
    found = fitted(observed)
    off = [work(one.loads, one.batch_s, found) / one.cores for one in observed]
    median, p90 = np.quantile([max(q, 1 / q) for q in off], (0.5, 0.9))
    return found, {"q_error_median": round(float(median), 3), "q_error_p90": round(float(p90), 3)}


def _measured(design: Design, folder: Path) -> Observed:
    folder.mkdir(parents=True)
    (graph, known), batches = design.plan(), design.write(folder)
    seconds = []
    for turn in range(_TURNS):
        topology = TimedTopology(graph, folder / f"run-{turn}")
        for ranges in batches:
            topology.work(ranges)
        seconds.append(sum(topology.seconds[design.warm :]) / MEASURED)
    shutil.rmtree(folder)
    found = loads(graph, known, text_bytes=design.text_bytes or TEXT_BYTES)
    return Observed(design.name, found, BATCH_S, min(seconds) / BATCH_S)
