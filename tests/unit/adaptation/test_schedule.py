"""schedule.yaml: what it means, and one clear error for whatever cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.adaptation.schedule import Schedule, read_schedule
from optimizer.algebra.errors import InputError

QUERIES = ("old", "passing", "late")


def write(folder: Path, text: str) -> Path:
    file = folder / "schedule.yaml"
    file.write_text(text)
    return file


def test_queries_that_are_never_added_are_always_there(tmp_path: Path) -> None:
    text = "changes:\n- {batch: 3, add: [late]}\n- {batch: 5, remove: [passing]}\n"
    schedule = read_schedule(write(tmp_path, text), QUERIES)
    assert schedule.batches == (3, 5)
    assert [schedule.at(batch) for batch in (0, 2, 3, 4, 5, 99)] == [
        ("old", "passing"),
        ("old", "passing"),
        ("late", "old", "passing"),
        ("late", "old", "passing"),
        ("late", "old"),
        ("late", "old"),
    ]


def test_without_a_schedule_nothing_changes() -> None:
    schedule = Schedule.always(QUERIES)
    assert schedule.batches == ()
    assert schedule.at(7) == ("late", "old", "passing")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("changes:\n- {batch: 3, add: [lat]}\n", "did you mean late"),
        ("changes:\n- {batch: 0, add: [late]}\n", "changes.0.batch"),
        ("changes:\n- {batch: 3, add: [late]}\n- {batch: 3, remove: [old]}\n", "a batch after 3"),
        ("changes:\n- {batch: 3, add: [late]}\n- {batch: 4, add: [late]}\n", "a second time"),
        ("changes:\n- {batch: 3, remove: [old]}\n- {batch: 4, remove: [old]}\n", "answered by then"),
        ("changes:\n- {batch: 3, remove: [old, late, passing]}\n", "at least one query"),
        ("changes:\n- {batch: 3, drop: [old]}\n", "drop"),
        ("changes: [\n", "schedule.yaml"),
        ("", "schedule.yaml"),
    ],
)
def test_unusable_schedules(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        read_schedule(write(tmp_path, text), QUERIES)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
