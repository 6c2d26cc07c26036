"""Java starts from the archive of Spark's classes, and without it if there is none that fits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from jobs.spark.class_archive import ARCHIVE, java_options

_LIVE = """
import sys
from pathlib import Path
from jobs.spark import class_archive, java, session
given = Path(sys.argv[1])
java.java_options = lambda: class_archive.java_options(given)
spark = session.create_session("local[1]", "archived", 1, Path(sys.argv[2]))
pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
print(any(str(given) in line for line in open(f"/proc/{pid}/maps")), spark.range(3).count())
"""


def started(archive: Path, scratch: Path) -> str:
    """Whether Java reads the archive, and what Spark counts."""

    command = [sys.executable, "-c", _LIVE, str(archive), str(scratch)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout.strip()


def test_spark_starts_from_the_archive_of_the_set_up(tmp_path: Path) -> None:
    assert ARCHIVE.is_file(), "make setup writes it"
    assert started(ARCHIVE, tmp_path) == "True 3"


def test_spark_starts_without_one_that_fits(tmp_path: Path) -> None:
    archive = tmp_path / "other.jsa"
    archive.write_bytes(b"no archive at all" * 1000)
    assert str(archive) in java_options(archive)
    assert started(archive, tmp_path / "scratch") == "False 3"
