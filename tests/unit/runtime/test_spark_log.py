"""Which entries of Spark's own log are deleted before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.recovery.spark_log import mend

WHOLE = {"offsets": 'v1\n{"batchWatermarkMs":0}\n{"batch":1}', "commits": 'v1\n{"nextBatchWatermarkMs":0}'}


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """Logs of five batches, each entry with its checksum file."""
    for log, text in WHOLE.items():
        (tmp_path / log).mkdir()
        for number in range(5):
            (tmp_path / log / str(number)).write_text(text)
            (tmp_path / log / f".{number}.crc").write_bytes(b"crc")
    return tmp_path


def left(spark: Path, log: str) -> list[str]:
    return sorted(path.name for path in (spark / log).iterdir())


def test_a_whole_log_is_left_alone(spark: Path) -> None:
    assert mend(spark, 4) == ()
    assert mend(spark / "not there", -1) == ()


@pytest.mark.parametrize("content", ["", "v1", "v1\n", 'v1\n{"batch', "\0\0\0\0"])
@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_damaged_entry_goes_with_all_that_follow_it(spark: Path, log: str, content: str) -> None:
    (spark / log / "3").write_text(content)
    gone = mend(spark, 3)
    assert len(gone) == 8
    for name in WHOLE:
        assert left(spark, name) == [".0.crc", ".1.crc", ".2.crc", "0", "1", "2"]


def test_damage_that_spark_does_not_read_is_left_alone(spark: Path) -> None:
    (spark / "offsets" / "1").write_text("")
    assert mend(spark, 4) == ()


def test_unfinished_files_go(spark: Path) -> None:
    (spark / "offsets" / ".5.0123.tmp").write_text("v1")
    assert mend(spark, 4) == ()
    assert ".5.0123.tmp" not in left(spark, "offsets")
