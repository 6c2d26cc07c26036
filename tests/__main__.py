"""`python -m tests [SUITE ...]`: the test suites, each in its own process, two at a time.

Django, Spark and a browser in one process would get into each other's way, and one suite's crash
must not hide the others. A suite by itself writes as it goes; of several each writes once it has ended,
and every two minutes a line says how far they are. Ends with one line per suite, what failed in it below,
and with 1 if any failed.

What fails of the suites that watch running processes is tried once more, alone: on a machine with other
work a process may die, or a page be slow, for reasons that are not ours. The last lines say so, since a
test that needed a second try is to be looked at, too.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_ROOT = Path(__file__).resolve().parents[1]


def _pytest(name: str, *arguments: str) -> list[str]:
    # What failed last is kept for each by itself: two write it at once.
    own = ("-o", f"cache_dir=.pytest_cache/{name}", "--durations=8", "--durations-min=20")
    return [sys.executable, "-m", "pytest", *own, *arguments]


SUITES = {
    # The longest first, so that none of them is left to the end.
    "browser": _pytest("browser", "-m", "not long", "tests/browser"),
    "oracle": _pytest("oracle", "-m", "not long", "tests/oracle"),
    "unit": _pytest("unit", "-m", "not long", "tests/unit"),
    "simulation": _pytest("simulation", "tests/simulation", "--schedules=100"),
    "runtime": _pytest("runtime", "-m", "not long", "tests/runtime", "tests/upgrade"),
    # Who gets in without an account is asked at every change, not only when security is tested.
    "api": _pytest("api", "tests/api", "tests/security/test_endpoints.py"),
    "sinks": _pytest("sinks", "-rs", "-m", "not long", "tests/sinks"),
    "load": _pytest("load", "tests/load"),
    "soak": [
        *(sys.executable, "-m", "tests.soak", "--minutes", "1.5", "--rate", "400"),
        *("--fault-every", "10", "--change-every", "3", "--exact"),
    ],
    "frontend": ["npx", "--no-install", "vitest", "run"],
}
LONG_SUITES = {
    "long": _pytest(
        *("long", "-m", "long"),
        *("tests/runtime", "tests/oracle", "tests/unit", "tests/browser", "tests/sinks"),
    ),
    "faults": _pytest("faults", "tests/faults"),
    "security": _pytest("security", "tests/security"),
    "docker": _pytest("docker", "tests/docker"),
    "postgres": _pytest("postgres", "tests/postgres"),
    "cluster": _pytest("cluster", "tests/cluster"),
    "kafka": _pytest("kafka", "-rs", "tests/kafka"),
}
"""Run by name or by `all`: together they take longer than anybody waits before a commit."""
ALL_SUITES = {**SUITES, **LONG_SUITES}
BY_ITSELF = {"simulation": _pytest("simulation", "tests/simulation", "--schedules=1000")}
"""Suites that try more when they are the only one asked for."""
_WATCHING = ("api", "runtime", "browser", "load")
_TESTS_FAILED = 1
"""Of pytest's exit codes the one that says that all tests ran, and some failed."""
_NEWS_S = 120
_FAILED = re.compile(r"^ *(?:FAILED|ERROR|FAIL) +(\S*\.(?:py|ts)(?:.*(?= - )|.*))")
_TITLE = re.compile(r"^_{2,} (?:ERROR at \w+ of )?(.+?) _{2,}$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LINE = 400


@dataclass(frozen=True, slots=True)
class _Ended:
    name: str
    code: int
    tries: int
    took_s: float
    failed: tuple[str, ...] = ()
    """What pytest and vitest say of each that failed at any try, a line each."""

    @property
    def line(self) -> str:
        verdict = "passed" if self.tries == 1 else "passed, second try"
        if self.code:
            verdict = f"FAILED (exit code {self.code})"
        told = "".join(f"    {line}\n" for line in self.failed)
        return f"{self.name:<10} {verdict:<22} {self.took_s:6.0f} s\n{told}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests")
    known = f"{', '.join(ALL_SUITES)}, or all (default: {', '.join(SUITES)})"
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {known}")
    chosen = parser.parse_args().suites or list(SUITES)
    if chosen == ["all"]:
        chosen = list(ALL_SUITES)
    for name in chosen:
        if name not in ALL_SUITES:
            parser.error(f"found suite {name}, expected one of {known}")
    if len(chosen) == 1:
        ended = [_run(chosen[0], BY_ITSELF.get(chosen[0], ALL_SUITES[chosen[0]]), None)]
    else:
        ended = _side_by_side(chosen)
    lines = [one.line for one in ended]
    left_out = [name for name in ALL_SUITES if name not in chosen]
    if chosen == list(SUITES):
        lines.append(f"left out, as they take longer: {', '.join(left_out)} (make test ONLY=..., or all)\n")
    _write("".join(["\n", *lines]))
    return 1 if any(one.code for one in ended) else 0


def _side_by_side(chosen: Sequence[str]) -> list[_Ended]:
    """As many at a time as there are processors, two at most: most of a suite's time is one processor's."""
    ended: list[_Ended] = []
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="suites-") as folder,
        ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as lanes,
    ):
        outputs = {name: Path(folder, name) for name in chosen}
        pending: set[Future[_Ended]] = {lanes.submit(_into, name, outputs[name]) for name in chosen}
        while pending:
            done, pending = wait(pending, _NEWS_S, FIRST_COMPLETED)
            for one in sorted((future.result() for future in done), key=lambda e: e.name):
                _write(f"== {one.name}\n{outputs[one.name].read_text(errors='replace')}")
                ended.append(one)
            if not done:
                running = [
                    f"{name} {_last_line(outputs[name])}"
                    for name in chosen
                    if outputs[name].exists() and name not in {one.name for one in ended}
                ]
                _write(f"-- {(time.monotonic() - began) / 60:.0f} min: {'; '.join(running)}\n")
    return ended


def _into(name: str, output: Path) -> _Ended:
    with output.open("w") as file:
        return _run(name, ALL_SUITES[name], file)


def _run(name: str, command: list[str], output: IO[str] | None) -> _Ended:
    began, tries = time.monotonic(), 1
    code = _exit_code(command, output)
    if code == _TESTS_FAILED and name in _WATCHING:
        tries = 2
        code = _exit_code([*command, "-v", "--last-failed", "--last-failed-no-failures=none"], output)
    return _Ended(name, code, tries, time.monotonic() - began, _failed(output))


def _exit_code(command: Sequence[str], output: IO[str] | None) -> int:
    return subprocess.run(command, cwd=_ROOT, check=False, stdout=output, stderr=subprocess.STDOUT).returncode


def _failed(output: IO[str] | None) -> tuple[str, ...]:
    """Which tests failed, with the first line of why: pytest's own summary cuts it to eighty characters."""
    if output is None:
        return ()
    failed: dict[str, None] = {}
    reasons: dict[str, str] = {}
    title = ""
    for coloured in Path(output.name).read_text(errors="replace").splitlines():
        line = _COLOUR.sub("", coloured)
        if found := _TITLE.match(line):
            title = found[1]
        elif line.startswith("E  "):
            reasons.setdefault(title, line[1:].strip())
        elif found := _FAILED.match(line):
            why = reasons.get(found[1].partition("::")[2].replace("::", "."), "")
            failed[f"{found[1]} {why}"[:_LINE].rstrip()] = None
    return tuple(failed)


def _last_line(output: Path) -> str:
    lines = output.read_text(errors="replace").strip().splitlines()
    return " ".join(lines[-1].split())[-60:] if lines else "begins"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
