"""Workers: what bounds them, what is told of them, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from backend.bounded import pool as pools
from backend.bounded.caller import Caller
from backend.bounded.pool import Pool
from backend.bounded.turns import Gone, Turns
from backend.bounded.worker import Limits
from backend.errors import Conflict, TooMuchWork, Unavailable
from optimizer.algebra.errors import Infeasible, InputError
from tests.api.bounded import tasks

MEMORY = 300_000_000


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(Turns(2, 4, 8, 30.0), Limits(2.0, 60.0, MEMORY, 5))
    yield made
    made.close()


def until(condition: Callable[[], object], seconds: float = 20.0) -> float:
    """How long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        time.sleep(0.01)
    return time.monotonic() - began


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_worker_is_another_process_and_stays(pool: Pool) -> None:
    first = pool.run(Caller(1), tasks.own_pid)
    assert first != os.getpid()
    assert pool.run(Caller(2), tasks.own_pid) == first
    assert pool.pids == [first]
    assert psutil.Process(first).nice() > psutil.Process().nice()


def test_a_worker_is_replaced_after_a_while(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MOST_USES", 3)
    pids = [pool.run(Caller(1), tasks.own_pid) for _ in range(7)]
    assert len(set(pids)) == 3
    assert is_gone(pids[0])


def test_processor_time_is_bounded(tmp_path: Path) -> None:
    """It alone: of wall time there is plenty."""
    pool = Pool(Turns(2, 4, 8, 30.0), Limits(2.0, 600.0, MEMORY, 5))
    caller, refused = Caller(1), []

    def ask() -> None:
        try:
            pool.run(caller, tasks.spin, str(tmp_path / "pid"))
        except TooMuchWork as error:
            refused.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        until(lambda: refused, 180.0)
    finally:
        caller.gone.set()
        asking.join(20)
    assert (refused[0].status, refused[0].code) == (422, "too-much-work")
    assert "2 s" in str(refused[0])
    until(lambda: is_gone(int((tmp_path / "pid").read_text())))
    assert pool.turns.in_use == (0, 0)
    assert pool.run(Caller(1), tasks.own_pid)
    pool.close()


def test_time_of_one_task_is_not_the_next_ones(pool: Pool) -> None:
    """Two tasks of a second and a half fit into bounds of two seconds each."""
    first = pool.run(Caller(1), tasks.work, 1.5)
    assert pool.run(Caller(1), tasks.work, 1.5) == first


def test_wall_time_is_bounded(tmp_path: Path) -> None:
    # On a busy machine a process takes a while to come to its task.
    pool = Pool(Turns(1, 1, 1, 1.0), Limits(60.0, 3.0, MEMORY))
    with pytest.raises(TooMuchWork):
        pool.run(Caller(1), tasks.sleep, 60.0, str(tmp_path / "pid"))
    until(lambda: is_gone(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize("pause_s", [0.0, 0.02])
def test_memory_is_bounded(pool: Pool, pause_s: float) -> None:
    with pytest.raises(TooMuchWork) as refused:
        pool.run(Caller(1), tasks.grow, pause_s)
    assert refused.value.code == "too-much-memory"
    assert pool.run(Caller(1), tasks.own_pid)


def test_what_is_refused_there_is_refused_here(pool: Pool) -> None:
    pid = pool.run(Caller(1), tasks.own_pid)
    with pytest.raises(InputError, match="did you mean z") as wrong:
        pool.run(Caller(1), tasks.refuse, "input")
    assert (wrong.value.code, wrong.value.place.column) == ("unknown-column", 2)
    with pytest.raises(Infeasible, match="the smallest value that works is 2"):
        pool.run(Caller(1), tasks.refuse, "infeasible")
    with pytest.raises(Conflict, match="too long") as conflict:
        pool.run(Caller(1), tasks.refuse, "conflict")
    assert conflict.value.code == "preview-too-long"
    with pytest.raises(RuntimeError, match=r"(?s)in refuse.*ZeroDivisionError: by zero"):
        pool.run(Caller(1), tasks.refuse, "other")
    assert pool.pids == [pid]


def test_a_killed_worker_is_replaced_and_its_task_done_again(pool: Pool, tmp_path: Path) -> None:
    assert pool.run(Caller(1), tasks.die_once, str(tmp_path / "died")) == "done"
    with pytest.raises(Unavailable, match="killed"):
        pool.run(Caller(1), tasks.die)
    pid = pool.run(Caller(1), tasks.own_pid)
    os.kill(pid, signal.SIGKILL)
    until(lambda: is_gone(pid))
    assert pool.run(Caller(1), tasks.own_pid) != pid


@pytest.mark.parametrize("work", [tasks.spin, "sleep"])
def test_nothing_goes_on_for_who_has_gone(pool: Pool, tmp_path: Path, work: object) -> None:
    started, caller, outcome = tmp_path / "pid", Caller(1), []

    def ask() -> None:
        try:
            if work == "sleep":
                pool.run(caller, tasks.sleep, 60.0, str(started))
            else:
                pool.run(caller, tasks.spin, str(started))
        except Gone as gone:
            outcome.append(gone)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: started.exists() and started.read_text())
    caller.gone.set()
    assert until(lambda: is_gone(int(started.read_text()))) < 1.5
    asking.join(20)
    assert len(outcome) == 1
    assert pool.turns.in_use == (0, 0)


def test_what_is_nearly_done_is_let_be(pool: Pool, tmp_path: Path) -> None:
    pid, caller = pool.run(Caller(2), tasks.own_pid), Caller(1)
    leaving = threading.Timer(0.1, caller.gone.set)
    leaving.start()
    assert pool.run(caller, tasks.sleep, pools.GRACE_SECONDS / 2, str(tmp_path / "pid")) == pid
    leaving.join()
    assert pool.pids == [pid]


PARENT = """
import sys, threading, time
from backend.bounded.caller import Caller
from backend.bounded.pool import Pool
from backend.bounded.turns import Turns
from backend.bounded.worker import Limits
from tests.api.bounded import tasks
if __name__ == "__main__":
    pool = Pool(Turns(2, 4, 8, 30.0), Limits(60.0, 60.0, 300_000_000))
    pool.run(Caller(1), tasks.own_pid)
    for number in range(2):
        arguments = (Caller(number), tasks.spin, f"{sys.argv[1]}/{number}")
        threading.Thread(target=pool.run, args=arguments, daemon=True).start()
    time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_process_that_they_work_for(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root), "DJANGO_SETTINGS_MODULE": "backend.settings"}
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)], cwd=root, env=environment)
    try:
        until(lambda: all((tmp_path / n).exists() and (tmp_path / n).read_text() for n in "01"), 60.0)
        below = psutil.Process(parent.pid).children(recursive=True)
        assert len(below) >= 3
    finally:
        parent.send_signal(how)
        parent.wait(20)
    until(lambda: all(is_gone(process.pid) for process in below))


def test_plans_of_many_streams_are_made_in_the_slow_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, slow = (Pool(Turns(1, 4, 8, 30.0), Limits(4.0, 60.0, MEMORY, 5)) for _ in range(2))
    monkeypatch.setattr(pools, "_hard_at", {})
    monkeypatch.setattr(pools, "quick", lambda: quick)
    monkeypatch.setattr(pools, "slow", lambda: slow)
    try:
        assert pools.plan_join(Caller(1), pools.MANY_JOINED - 1, tasks.own_pid) in quick.pids
        assert pools.plan_join(Caller(1), pools.MANY_JOINED, tasks.own_pid) in slow.pids
        assert pools.plan(Caller(1), tasks.own_pid) in quick.pids
    finally:
        quick.close()
        slow.close()


def test_an_account_alone_does_not_contest_its_own_work() -> None:
    pool, caller = Pool(Turns(1, 4, 8, 30.0), Limits(4.0, 60.0, MEMORY, 5)), Caller(1)
    try:
        with ThreadPoolExecutor(2) as people:
            asked = [people.submit(pool.attempt, caller, 4.0, 0.05, tasks.work, (0.4,)) for _ in range(2)]
            assert len({one.result() for one in asked}) == 1
    finally:
        pool.close()
