"""A command that ends with an error says one line, and where the rest is."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.ending.given_up import given_up
from jobs.cli.ending.last_words import DEBUG, one_line, tell
from jobs.driver.coordinator import Excess
from jobs.failures.task_failure import Failure, TaskFailed, Told
from jobs.recovery.checkpoint import Change
from optimizer.algebra.errors import InputError, Place
from optimizer.physical.graph import PhysicalGraph

TOLD = Told(Failure("taking in r", "PanicException: out-of-range date", ("q",)))
SPARK = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times
Traceback (most recent call last):
  File "jobs/worker/task.py", line 1, in <module>
{}
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
\t... 80 more
"""
FULL = "OSError: [Errno 28] No space left on device"
CASES = [
    (
        SPARK.format(f"jobs.failures.task_failure.Told: {TOLD}"),
        "PanicException: out-of-range date, taking in r",
    ),
    (
        SPARK.format("OSError: [Errno 28] No space left on device"),
        "OSError: [Errno 28] No space left on device",
    ),
    ("Answer from Java side is empty", "RuntimeError: Answer from Java side is empty"),
    ("two\nlines", "RuntimeError: two lines"),
]


@pytest.mark.parametrize(("said", "line"), CASES, ids=[line[:20] for _, line in CASES])
def test_an_error_is_one_line_and_a_file(
    said: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    log = tmp_path / "error.log"
    tell(RuntimeError(said), log)
    first, *more = capsys.readouterr().err.splitlines()
    assert first == f"{line} (traceback: {log})"
    # Of a process that was ended from outside there is a second line, with what to do.
    assert len(more) == ("Java side" in said)
    assert said.splitlines()[-1] in log.read_text()


def test_tracebacks_are_printed_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEBUG, "1")
    tell(RuntimeError(CASES[0][0]), tmp_path / "nowhere" / "error.log")
    assert "80 more" in capsys.readouterr().err


def test_a_batch_that_fails_without_a_tuple_and_bad_input_are_as_short() -> None:
    assert (
        one_line(TaskFailed(Failure("storing at level 1", "KeyError: 'x'")))
        == "KeyError: 'x', storing at level 1"
    )
    bad = InputError(
        "failing-query", Place("query q"), "KeyError: 'f', probing s", "a query that can be evaluated"
    )
    assert one_line(bad) == str(bad)


def test_a_replay_names_the_query_for_which_its_batch_is_given_up() -> None:
    change = Change(0, "p", "p", ("r",), "start")
    excess = Excess(3, change, {}, 0, {"q": "KeyError: 'f', probing s"})
    told = str(given_up(excess, PhysicalGraph((), (), (), (), ()), Path("w/queries")))
    assert told.startswith("w/queries/q.sql: found KeyError: 'f', probing s, expected ")
