"""One part kept running: small real processes that end in every way that there is."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from backend.run.keeper import Keeper, Pace, Wanted
from backend.run.parts import NEVER, Part

PATIENCE_S = 120.0
READY = "print('here I am', flush=True)"
STAY = f"{READY}\nimport time\nwhile True: time.sleep(60)"
QUICK = Pace(first_s=0.01, longest_s=0.05, steady_s=600, tries=3, patience_s=PATIENCE_S)
Keep = Callable[..., Keeper]


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Keep]:
    stopping = threading.Event()
    kept: list[Keeper] = []

    def start(
        program: str, pace: Pace = QUICK, excused: Callable[[], bool] = lambda: False, python: str = ""
    ) -> Keeper:
        command = [python or sys.executable, "-c", program]
        wanted = Wanted("part", command, lambda part: part.has_said("here I am"))
        keeper = Keeper(wanted, os.environ, tmp_path, tmp_path / "part.log", stopping, excused, pace)
        keeper.start()
        kept.append(keeper)
        return keeper

    yield start
    stopping.set()
    for keeper in kept:
        keeper.end(NEVER)


def wait_for(is_so: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def starts(log: Path) -> int:
    return log.read_text().count("here I am") if log.exists() else 0


def test_what_ends_is_started_again_however_it_ends(
    keep: Keep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = tmp_path / "ways"
    program = f"""{READY}
import os, pathlib, signal, time
note = pathlib.Path({str(note)!r})
way = note.read_text().split()
if not way:
    while True: time.sleep(60)
note.write_text(" ".join(way[1:]))
os.kill(os.getpid(), int(way[0])) if int(way[0]) else None
time.sleep(60) if int(way[0]) else None
"""
    ways = [0, *(int(number) for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM))]
    note.write_text(" ".join(map(str, ways)))
    # It may have ended before somebody has seen that it was ready.
    keeper = keep(program, Pace(0.01, 0.05, 600, tries=1000))
    wait_for(keeper.ready.is_set)
    wait_for(lambda: starts(tmp_path / "part.log") == len(ways) + 1)
    assert keeper.failure is None
    said = capsys.readouterr().out
    for how in ("ended with code 0", "was ended by SIGKILL", "was ended by SIGSEGV", "was ended by SIGTERM"):
        assert f"part       {how}; it is started again in " in said
    assert said.count("started again") == len(ways)


def test_pauses_grow_up_to_a_bound(keep: Keep, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(READY, Pace(0.01, 0.05, 600, tries=1000))
    wait_for(lambda: starts(tmp_path / "part.log") >= 5)
    said = capsys.readouterr().out
    pauses = [line.rpartition(" in ")[2] for line in said.splitlines() if "started again" in line]
    assert pauses[:4] == ["0.01 s", "0.02 s", "0.04 s", "0.05 s"]


@pytest.mark.parametrize(
    ("program", "python", "how"),
    [
        ("raise SystemExit('no such setting')", "", "ended with code 1"),
        ("import os; os.kill(os.getpid(), 9)", "", "was ended by SIGKILL"),
        ("", "/nonexistent/python", "could not be executed (No such file or directory)"),
    ],
)
def test_what_cannot_be_started_is_given_up(keep: Keep, program: str, python: str, how: str) -> None:
    keeper = keep(program, python=python)
    wait_for(lambda: keeper.failure is not None)
    assert keeper.failure == f"part cannot be started: it {how}, 3 times in a row"
    assert not keeper.ready.is_set()
    if "setting" in program:
        assert keeper.last_lines(5) == ["no such setting"]


def test_what_is_never_ready_is_given_up(keep: Keep) -> None:
    keeper = keep("import time; time.sleep(600)", Pace(0.01, 0.05, 600, 2, patience_s=0.3))
    wait_for(lambda: keeper.failure is not None)
    assert keeper.failure == "part cannot be started: it was not ready after 0 s, 2 times in a row"


def test_a_start_without_what_it_needs_does_not_count(keep: Keep, tmp_path: Path) -> None:
    there = tmp_path / "redis"
    program = f"import pathlib, sys; pathlib.Path({str(there)!r}).exists() or sys.exit(1)\n{STAY}"
    asked = []

    def is_excused() -> bool:
        asked.append(not there.exists())
        if len(asked) == 3 * QUICK.tries:
            there.touch()
        return asked[-1]

    keeper = keep(program, excused=is_excused)
    wait_for(keeper.ready.is_set)
    assert keeper.failure is None


def test_what_a_killed_part_leaves_is_ended_before_the_next_one(keep: Keep, tmp_path: Path) -> None:
    """A Celery worker's children live on when it is killed; a job that leads its own session shall."""
    pids = tmp_path / "pids"
    program = f"""
import os, pathlib, subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
child, job = subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)
with pathlib.Path({str(pids)!r}).open("a") as note:
    note.write(f"{{os.getpid()}} {{child.pid}} {{job.pid}}\\n")
{STAY}
"""
    keep(program)
    wait_for(lambda: starts(tmp_path / "part.log") == 1)
    leader, child, job = (psutil.Process(int(pid)) for pid in pids.read_text().split())
    leader.kill()
    wait_for(lambda: starts(tmp_path / "part.log") == 2)
    try:
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
        assert job.is_running()
    finally:
        for text in pids.read_text().split()[2::3]:
            psutil.Process(int(text)).kill()


@pytest.mark.parametrize(
    "stubborn", ["signal.signal(signal.SIGTERM, signal.SIG_IGN)", "os.kill(os.getpid(), 19)"]
)
def test_whoever_does_not_listen_is_killed_in_a_hurry(tmp_path: Path, stubborn: str) -> None:
    program = f"import os, signal, time\nprint('ready', flush=True)\n{stubborn}\nwhile True: time.sleep(60)"
    part = Part("part", [sys.executable, "-c", program], os.environ, tmp_path, tmp_path / "log")
    wait_for(lambda: part.has_said("ready"))
    hurry = threading.Event()
    hurry.set()
    part.end(hurry)
    assert part.code() in (-signal.SIGKILL, -signal.SIGTERM)
    assert not psutil.pid_exists(part.pid)
