"""The soak's comparison finds what is missing, doubled or wrong: a run made by hand, then damaged."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.plan.tuples import ARRIVALS_PER_TASK
from optimizer.logical.stream import MOST_TASKS
from tests.oracle.workload import GeneratedInput, GeneratedQuery
from tests.soak.judging import Answers, Judgement, judge
from tests.soak.tuples import STREAMS
from tests.soak.watching import Commit

SECOND = 1_000_000
BEGIN_US = 1_767_225_600 * SECOND
QUERY = GeneratedQuery(
    "pairs",
    (GeneratedInput("x", "r", timedelta(seconds=4)), GeneratedInput("y", "s", timedelta(seconds=4))),
    ("x.a = y.a",),
    ("x.id AS o0", "y.id AS o1"),
    "",
)
# Stream, number, seconds, key. One per second of real time; three make a batch.
SENT = (
    ("r", 1, 0, 7),
    ("s", 1, 1, 7),
    ("r", 2, 2, 8),
    ("s", 2, 3, 8),
    ("r", 3, 3, 8),
    ("s", 3, 9, 7),
    ("s", 4, 10, 8),
    ("r", 4, 11, 8),
    ("r", 5, 0, 8),
)
LATE = ("r", 5)
FOUND = ((1, 1, 0), (2, 2, 1), (3, 2, 1), (4, 4, 2))
"""The numbers of both tuples, and the batch that answers: all that belong together within 4 s."""


def _write_sent(folder: Path) -> None:
    for stream in STREAMS:
        rows = [(i, *one[1:]) for i, one in enumerate(SENT) if one[0] == stream]
        table = pa.table(
            {
                "id": pa.array([number for _, number, _, _ in rows], pa.int64()),
                "ts": pa.array([BEGIN_US + at * SECOND for _, _, at, _ in rows], pa.timestamp("us", "UTC")),
                "a": pa.array([key for *_, key in rows], pa.int64()),
                "v": pa.array([0 for _ in rows], pa.int64()),
                "entry_ms": pa.array([BEGIN_US // 1000 + i * 1000 for i, *_ in rows], pa.int64()),
                "entry_seq": pa.array([0 for _ in rows], pa.int64()),
            }
        )
        pq.write_table(table, folder / f"{stream}-000000.parquet")


def _write_results(output: Path, found: tuple[tuple[int, int, int], ...]) -> None:
    folder = output / "results" / QUERY.name
    folder.mkdir(parents=True)
    for batch in sorted({batch for *_, batch in found}):
        rows = [(x, y) for x, y, b in found if b == batch]
        table = pa.table({"o0": [x for x, _ in rows], "o1": [y for _, y in rows]})
        pq.write_table(table, folder / f"{batch:08d}-1-000.parquet")
    (output / "dead_letters").mkdir()
    letter = {
        "stream": LATE[0],
        "reason": "late",
        "arrival": 2 * MOST_TASKS * ARRIVALS_PER_TASK,
        "event_time": None,
        "tuple": f'{{"id": {LATE[1]}}}',
    }
    pq.write_table(pa.Table.from_pylist([letter], DEAD_LETTERS), output / "dead_letters" / "2.parquet")


def _commits(answered: dict[int, int | None]) -> list[Commit]:
    """Three batches; by batch that answers the query, since when it is complete."""
    commits = []
    for batch in range(3):
        entry = f"{BEGIN_US // 1000 + (batch * 3 + 2) * 1000}-0"
        at_us = BEGIN_US + (batch * 3 + 3) * SECOND
        queries = {QUERY.name: answered[batch]} if batch in answered else {}
        accepted = {"r": 4, "s": 4, "t": 0}
        commits.append(
            Commit(batch, at_us, at_us, dict.fromkeys(STREAMS, entry), queries, accepted, {}, {}, 0, 0)
        )
    return commits


ALL = {0: None, 1: None, 2: None}


def _judged(
    folder: Path,
    found: tuple[tuple[int, int, int], ...] = FOUND,
    answered: dict[int, int | None] | None = None,
) -> Judgement:
    (folder / "sent").mkdir(parents=True)
    _write_sent(folder / "sent")
    _write_results(folder / "out", found)
    load = (BEGIN_US / SECOND, BEGIN_US / SECOND + 10)
    commits = _commits(ALL if answered is None else answered)
    return judge(folder, folder / "out", [QUERY], commits, [], load)


def test_a_right_run(tmp_path: Path) -> None:
    judged = _judged(tmp_path)
    assert judged.answers == (Answers("pairs", 4, 4, 4, 0, 0, 0),)
    assert (judged.sent, judged.accepted, judged.unread) == (9, 8, 0)
    assert judged.dead_letters == {"late": 1}
    assert judged.miscounted == {}
    # Three tuples a batch, committed one, two and three seconds after they came.
    assert judged.all_latency_ms == (2000.0, 3000.0)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (FOUND[1:], (1, 0, 0)),
        ((*FOUND, FOUND[2]), (0, 1, 0)),
        ((*FOUND, (1, 2, 1)), (0, 0, 1)),
        ((FOUND[0], FOUND[0], *FOUND[2:]), (1, 1, 0)),
        ((*FOUND, (5, 2, 2)), (0, 0, 1)),
    ],
    ids=["missing", "doubled", "wrong", "one-instead-of-another", "from-a-late-tuple"],
)
def test_a_damaged_run(
    tmp_path: Path, found: tuple[tuple[int, int, int], ...], expected: tuple[int, int, int]
) -> None:
    (answers,) = _judged(tmp_path, found).answers
    assert (answers.missing, answers.doubled, answers.wrong) == expected


def test_a_query_that_comes_later(tmp_path: Path) -> None:
    """Results of the batch before it came are none of its results."""
    (answers,) = _judged(tmp_path / "with", FOUND, {1: None, 2: None}).answers
    assert (answers.needed, answers.missing, answers.wrong) == (3, 0, 1)
    (answers,) = _judged(tmp_path / "without", FOUND[1:], {1: None, 2: None}).answers
    assert (answers.missing, answers.wrong) == (0, 0)


def test_before_it_is_complete_anything_true_may_be_there(tmp_path: Path) -> None:
    since = BEGIN_US + 5 * SECOND
    answered: dict[int, int | None] = {0: since, 1: since, 2: since}
    for number, found in enumerate((FOUND, FOUND[1:], FOUND[3:])):
        (answers,) = _judged(tmp_path / str(number), found, answered).answers
        assert answers == replace(answers, needed=1, possible=4, missing=0, doubled=0, wrong=0)
    (answers,) = _judged(tmp_path / "nothing", FOUND[:1], answered).answers
    assert answers.missing == 1


def test_what_was_sent_and_never_read(tmp_path: Path) -> None:
    (tmp_path / "sent").mkdir()
    _write_sent(tmp_path / "sent")
    _write_results(tmp_path / "out", FOUND[:3])
    commits = [replace(one, accepted={"r": 3, "s": 3, "t": 0}) for one in _commits(ALL)[:2]]
    judged = judge(tmp_path, tmp_path / "out", [QUERY], commits, [], (0.0, 2e9))
    assert judged.unread == 3
