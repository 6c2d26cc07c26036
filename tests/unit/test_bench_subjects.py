"""A benchmark goes on when one of its subjects fails, and says so."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.bench import report
from tests.bench.measurement import Report
from tests.bench.processes import run_to_end
from tests.bench.subjects import Subject, measure_in_turns, python


def test_subjects_take_turns_and_a_failed_one_stops_nobody(tmp_path: Path) -> None:
    order = []

    def measured(name: str, results: float) -> Subject:
        def measure(_: Path) -> dict[str, float]:
            order.append(name)
            return {"seconds": 1.0, "tuples_per_second": 10.0, "results": results}

        return Subject(name, f"run {name}", measure, 5)

    found = measure_in_turns("b", [measured("right", 5), measured("wrong", 6)], tmp_path, 2)
    assert order == ["right", "wrong", "right"]
    assert [len(m.runs) for m in found] == [2, 0]
    assert found[0].failure is None
    assert found[1].failure == "WrongAnswer: 6 results, DuckDB has 5"

    Report("b", 0.1, "make bench ONLY=b", found).write(tmp_path / "benchmarks")
    report.write(tmp_path / "benchmarks", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "| wrong | – | – | – |" in page
    assert "wrong failed after 0 run(s): `WrongAnswer: 6 results, DuckDB has 5`" in page


def test_a_program_that_fails_is_an_error_with_what_it_said() -> None:
    with pytest.raises(RuntimeError, match="exit code 3\nbecause"):
        python(["-c", "import sys; sys.stderr.write('because'); sys.exit(3)"])


def test_the_last_line_is_the_answer() -> None:
    assert python(["-c", "print('first'); print('{\"seconds\": 2.5}')"]) == {"seconds": 2.5}


def test_what_a_process_started_ends_with_it() -> None:
    child = (
        "import subprocess as s; "
        "print(s.Popen(['sleep', '600'], stdin=s.DEVNULL, stdout=s.DEVNULL, stderr=s.DEVNULL).pid)"
    )
    pid = int(run_to_end([sys.executable, "-c", child], 600).stdout)
    assert _ends_within(pid, 600)


def _ends_within(pid: int, seconds: float) -> bool:
    """A killed process takes a moment; one that nobody collects stays as a zombie."""
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
    return False
