"""The account of processor time counts steady batches only, and whose they were."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.cluster.account import DRIVER, KINDS, Account

_CPU_S = (0.5, 0.5, 0.1, 0.1)
"""Of each batch."""
_REPLAY = """
import sys, time
for line in sys.stdin:
    until = time.process_time() + float(line)
    while time.process_time() < until:
        pass
    with open(sys.argv[1], "a") as file:
        file.write("{}\\n")
"""
"""Burns what it is told and commits a batch."""


def test_the_account_of_a_process_that_commits(tmp_path: Path) -> None:
    log = tmp_path / "checkpoint" / "batches.jsonl"
    log.parent.mkdir()
    account = Account(tmp_path)
    with account.taken():
        replay = subprocess.Popen([sys.executable, "-c", _REPLAY, str(log)], stdin=subprocess.PIPE, text=True)
        assert replay.stdin is not None
        for batch, seconds in enumerate(_CPU_S, start=1):
            replay.stdin.write(f"{seconds}\n")
            replay.stdin.flush()
            give_up_at = time.monotonic() + 600
            while account.batches < batch:
                assert time.monotonic() < give_up_at, f"batch {batch} was not seen"
                time.sleep(0.01)
        replay.communicate()
    used = account.per_batch()
    assert used.pop(f"{DRIVER}_cpu_s") == pytest.approx(0.1, abs=0.05)
    assert used == {f"{kind}_cpu_s": 0.0 for kind in KINDS if kind != DRIVER}


def test_no_account_of_too_few_batches(tmp_path: Path) -> None:
    assert Account(tmp_path).per_batch() == {}
