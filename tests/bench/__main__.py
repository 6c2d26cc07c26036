"""`python -m tests.bench [--only NAME] [--scale F] [--repeat N]`: the benchmarks (`make bench`).

At scale 1 the figures go to docs/lab/benchmarks/ and docs/lab/benchmarks.md is written anew; at another
scale to .millrace/benchmarks/, so that a quick look never replaces a real measurement.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.bench import report
from tests.bench.adaptive import benchmark as adaptive
from tests.bench.ajoin import benchmark as ajoin
from tests.bench.cluster import benchmark as cluster
from tests.bench.joins import benchmark as joins
from tests.bench.joins.shapes import SHAPES, Shape
from tests.bench.latency import benchmark as latency
from tests.bench.live import benchmark as live
from tests.bench.matrix import benchmark as matrix
from tests.bench.memory import benchmark as memory
from tests.bench.nexmark import benchmark as nexmark
from tests.bench.pages import benchmark as pages
from tests.bench.psp import benchmark as psp
from tests.bench.queries import benchmark as queries
from tests.bench.regret import benchmark as regret
from tests.bench.start import benchmark as start
from tests.bench.tpch import benchmark as tpch
from tests.bench.tpch_peers import benchmark as tpch_peers
from tests.bench.trees import benchmark as trees
from tests.bench.windows import benchmark as windows

_ROOT = Path(__file__).resolve().parents[2]


def _joins(shape: Shape) -> Callable[[Path, float, int, str], None]:
    def measure(folder: Path, scale: float, repeat: int, command: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            joins.run(shape, Path(scratch), scale, repeat, command).write(folder)

    return measure


def _windows(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        windows.run(folder, Path(scratch), scale, repeat, command).write(folder)


def _queries(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        queries.run(folder, Path(scratch), scale, repeat, command).write(folder)


def _latency(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        latency.run(Path(scratch), scale, repeat, command).write(folder)


def _cluster(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        cluster.run(Path(scratch), scale, repeat, command).write(folder)


def _memory(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        memory.run(Path(scratch), scale, repeat, command).write(folder)


def _ajoin_sharing(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        ajoin.run_sharing(folder, Path(scratch), scale, repeat, command).write(folder)


def _ajoin_adhoc(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        ajoin.run_adhoc(folder, Path(scratch), scale, repeat, command).write(folder)


def _trees(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Counts what is sent and stored, which is the same in every run; runs everything once."""
    del repeat
    with tempfile.TemporaryDirectory() as scratch:
        trees.run(folder, Path(scratch), scale, command).write(folder)


def _psp(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        psp.run(folder, Path(scratch), scale, repeat, command).write(folder)


def _adaptive(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON, plots and Markdown section into the folder itself; runs everything once."""
    del repeat
    with tempfile.TemporaryDirectory() as scratch:
        adaptive.run(folder, Path(scratch), scale, command)


def _matrix(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON, plots and Markdown section into the folder itself; runs everything once."""
    del repeat
    with tempfile.TemporaryDirectory() as scratch:
        matrix.run(folder, Path(scratch), scale, command)


def _live(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON and Markdown section into the folder itself; runs once."""
    del repeat
    with tempfile.TemporaryDirectory() as scratch:
        live.run(folder, Path(scratch), scale, command)


def _start(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON and Markdown section into the folder itself; there is nothing to scale."""
    del scale
    with tempfile.TemporaryDirectory() as scratch:
        start.run(folder, Path(scratch), repeat, command)


def _pages(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON and Markdown section into the folder itself; runs once."""
    del repeat
    with tempfile.TemporaryDirectory() as scratch:
        pages.run(folder, Path(scratch), scale, command)


def _tpch(count: int) -> Callable[[Path, float, int, str], None]:
    def measure(folder: Path, scale: float, repeat: int, command: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            tpch.run(f"tpch{count}", count, Path(scratch), scale, repeat, command).write(folder)

    return measure


def _tpch_peers(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        tpch_peers.run(Path(scratch), scale, repeat, command).write(folder)


def _nexmark(folder: Path, scale: float, repeat: int, command: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        nexmark.run(Path(scratch), scale, repeat, command).write(folder)


def _regret(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON and Markdown section into the folder itself; `scale` is of the number of workloads."""
    regret.run(folder, scale, repeat, command)


def _optimizer(folder: Path, scale: float, repeat: int, command: str) -> None:
    """Writes its JSON, plots and Markdown section into the folder itself."""
    del repeat, command
    subprocess.run(
        [sys.executable, "-m", "tests.bench.optimizer", "--out", str(folder), "--scale", str(scale)],
        cwd=_ROOT,
        check=True,
    )


BENCHMARKS: dict[str, Callable[[Path, float, int, str], None]] = {
    **{name: _joins(shape) for name, shape in SHAPES.items()},
    "windows": _windows,
    "queries": _queries,
    "latency": _latency,
    "cluster": _cluster,
    "memory": _memory,
    "optimizer": _optimizer,
    "regret": _regret,
    "adaptive": _adaptive,
    "matrix": _matrix,
    "live": _live,
    "start": _start,
    "pages": _pages,
    "ajoin-sharing": _ajoin_sharing,
    "ajoin-adhoc": _ajoin_adhoc,
    "psp": _psp,
    "trees": _trees,
    "tpch5": _tpch(5),
    "tpch10": _tpch(10),
    "tpch-peers": _tpch_peers,
    "nexmark": _nexmark,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--only", choices=BENCHMARKS, help="one benchmark (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the data (default: 1)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each subject (default: 3)")
    given = parser.parse_args()
    if not 0 < given.scale <= 100 or given.repeat < 1:
        parser.error("expected a scale above 0 and at most 100, and at least one run")
    base = _ROOT / "docs" / "lab" if given.scale == 1 else _ROOT / ".millrace"
    folder, page = base / "benchmarks", base / "benchmarks.md"
    folder.mkdir(parents=True, exist_ok=True)
    # Stopped from outside, it ends what it started, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = [given.only] if given.only else list(BENCHMARKS)
    failed = []
    for number, name in enumerate(names, start=1):
        sys.stderr.write(f"[{number}/{len(names)}] {name}\n")
        scale = "" if given.scale == 1 else f" SCALE={given.scale:g}"
        began = time.monotonic()
        try:
            BENCHMARKS[name](folder, given.scale, given.repeat, f"make bench ONLY={name}{scale}")
        except Exception:
            # The others have nothing to do with it; what it wrote before stays.
            traceback.print_exc()
            failed.append(name)
        else:
            failed.extend(f"{name} ({subject})" for subject in report.failed(folder, name))
        report.write(folder, page)
        sys.stderr.write(f"[{number}/{len(names)}] {name}: {time.monotonic() - began:.0f} s\n")
    sys.stdout.write(page.read_text())
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
