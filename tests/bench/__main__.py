"""`python -m tests.bench [--only NAME] [--scale F] [--repeat N]`: the benchmarks (`make bench`).

At scale 1 the figures go to docs/benchmarks/ and docs/benchmarks.md is written anew; at another
scale to .millrace/benchmarks/, so that a quick look never replaces a real measurement.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import report
from tests.bench.adaptive import benchmark as adaptive
from tests.bench.linear3 import benchmark as linear3
from tests.bench.tpch import benchmark as tpch

_ROOT = Path(__file__).resolve().parents[2]


def _linear3(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        linear3.run(Path(scratch), scale, repeat, command).write(folder)


def _adaptive(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON, plots and Markdown section into the folder itself; runs everything once."""
    del repeat
    with tempfile.TemporaryDirectory() as scratch:
        adaptive.run(folder, Path(scratch), scale, command)


def _tpch(count: int) -> Callable[[Path, float, int, str], None]:
    def measure(folder: Path, scale: float, repeat: int, command: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            tpch.run(f"tpch{count}", count, Path(scratch), scale, repeat, command).write(folder)

    return measure


def _optimizer(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON, plots and Markdown section into the folder itself."""
    del repeat, command
    subprocess.run(
        [sys.executable, "-m", "tests.bench.optimizer", "--out", str(folder), "--scale", str(scale)],
        cwd=_ROOT,
        check=True,
    )


BENCHMARKS: dict[str, Callable[[Path, float, int, str], None]] = {
    "linear3": _linear3,
    "optimizer": _optimizer,
    "adaptive": _adaptive,
    "tpch5": _tpch(5),
    "tpch10": _tpch(10),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--only", choices=BENCHMARKS, help="one benchmark (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the data (default: 1)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each subject (default: 3)")
    given = parser.parse_args()
    if not 0 < given.scale <= 100 or given.repeat < 1:
        parser.error("expected a scale above 0 and at most 100, and at least one run")
    base = _ROOT / "docs" if given.scale == 1 else _ROOT / ".millrace"
    folder, page = base / "benchmarks", base / "benchmarks.md"
    folder.mkdir(parents=True, exist_ok=True)
    for name in [given.only] if given.only else list(BENCHMARKS):
        scale = "" if given.scale == 1 else f" SCALE={given.scale:g}"
        BENCHMARKS[name](folder, given.scale, given.repeat, f"make bench ONLY={name}{scale}")
    report.write(folder, page)
    sys.stdout.write(page.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
