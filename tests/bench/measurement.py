"""What a benchmark measured, and the machine it ran on."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

from jobs.spark.session import processors

_PACKAGES = ("pyspark", "pyarrow", "polars", "duckdb", "pulp", "highspy")


def describe_machine() -> dict[str, str]:
    """Processor, memory and versions; what a reader needs in order to judge a figure."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(),
        "cores": str(processors()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "load": f"{os.getloadavg()[0]:.1f} when the benchmark ended",
        "python": platform.python_version(),
        "java": _java(),
        **{name: version(name) for name in _PACKAGES},
    }


@dataclass(frozen=True, slots=True)
class Measured:
    """One subject's runs. The order of `runs` is the order in which they ran."""

    subject: str
    command: str
    """What to type to do one run again."""
    runs: tuple[dict[str, float], ...]
    """Figures by name, with the unit in the name."""
    failure: str | None = None
    """Why it was not run as often as asked for."""

    @property
    def speeds(self) -> tuple[float, ...]:
        """Tuples per second of each run: steady if that was measured."""
        figures = ("steady_tuples_per_second", "tuples_per_second")
        return next((found for f in figures if (found := tuple(r[f] for r in self.runs if f in r))), ())

    @property
    def speed(self) -> float | None:
        """The median of `speeds`."""
        return median(self.speeds) if self.speeds else None

    def median(self, figure: str) -> float | None:
        values = [run[figure] for run in self.runs if figure in run]
        return median(values) if values else None


@dataclass(frozen=True, slots=True)
class Report:
    benchmark: str
    scale: float
    command: str
    measured: tuple[Measured, ...]
    notes: tuple[str, ...] = ()
    machine: dict[str, str] = field(default_factory=describe_machine)
    plots: tuple[str, ...] = ()
    """Files beside the JSON, besides the one of the subjects' speeds."""
    speeds_compare: bool = True
    """False if subjects read different streams, so that a plot of their tuples per second would mislead."""
    taken_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def write(self, folder: Path) -> Path:
        """Writes FOLDER/BENCHMARK.json, draws its plot and returns the JSON's path."""
        from tests.bench.bars import draw

        folder.mkdir(parents=True, exist_ok=True)
        drawn = draw(folder, self.benchmark, self.measured) if self.speeds_compare else None
        file = folder / f"{self.benchmark}.json"
        medians = {
            m.subject: {name: m.median(name) for name in dict.fromkeys(n for run in m.runs for n in run)}
            for m in self.measured
        }
        document = asdict(self) | {"medians": medians, "plots": [*filter(None, [drawn]), *self.plots]}
        file.write_text(json.dumps(document, indent=1) + "\n")
        return file


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", information.read_text(), re.MULTILINE)
        if found:
            return found.group(1)
    return platform.processor() or platform.machine()


def _java() -> str:
    java = os.environ.get("JAVA_HOME")
    command = str(Path(java) / "bin" / "java") if java else shutil.which("java")
    if command is None:
        return "none"
    said = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found.group(1) if found else "unknown"
