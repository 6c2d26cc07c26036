"""Calibration: what fits is found again, and designs run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from jobs.calibration.calibrate import calibrate
from jobs.calibration.designs import DESIGNS
from jobs.calibration.fit import Observed, fitted, non_negative, work
from jobs.metrics.cpu_time import cpu_seconds
from optimizer.estimate import loads
from optimizer.search.calibration import read_calibration, write_calibration
from optimizer.search.coefficients import COEFFICIENTS


def test_the_designs_tell_the_coefficients_apart() -> None:
    observed = []
    for design in DESIGNS:
        graph, known = design.plan()
        does = loads(graph, known, text_bytes=design.text_bytes or 24.0)
        observed.append(Observed(design.name, does, 1.0, work(does, 1.0, COEFFICIENTS)))

    found = fitted(observed)

    assert asdict(found) == pytest.approx(asdict(COEFFICIENTS), rel=1e-3, abs=1e-4)


def test_nothing_is_below_zero() -> None:
    chance = np.random.default_rng(7)
    for _ in range(20):
        matrix, wanted = chance.random((12, 5)), chance.random(12) - 0.3
        found = non_negative(matrix, wanted)
        gradient = matrix.T @ (wanted - matrix @ found)
        # The conditions of Karush, Kuhn and Tucker: nothing else is nearer.
        assert (found >= 0).all()
        assert (gradient <= 1e-7).all()
        assert np.abs(gradient[found > 0]).max(initial=0.0) < 1e-7


def test_designs_are_measured_and_written(tmp_path: Path) -> None:
    told: list[str] = []
    few = [replace(design, rows=50) for design in DESIGNS[:3]]

    found, figures = calibrate(tmp_path / "scratch", told.append, few)
    write_calibration(tmp_path / "c.json", found, figures)

    assert len(told) == 3
    assert figures["q_error_median"] >= 1
    assert asdict(read_calibration(tmp_path / "c.json")) == pytest.approx(asdict(found), rel=1e-3)


def test_children_count_as_processor_time() -> None:
    before = cpu_seconds()
    if before is None:
        pytest.skip("this system does not tell")
    busy = "import time\nbegan = time.process_time()\nwhile time.process_time() - began < 0.3: pass"

    subprocess.run([sys.executable, "-c", busy], check=True)

    after = cpu_seconds()
    assert after is not None
    assert 0.25 < after - before < 30
