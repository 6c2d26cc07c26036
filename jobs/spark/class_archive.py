"""An archive of the classes that Spark loads, for Java to start sooner.

Java reads, checks and links them before a topology's first batch; from an archive that Java itself wrote
(class-data sharing) that takes less than half of the processor time. `make setup` has one
written; without it, or with one of another Java, of other packages or at another place, Spark starts as ever.

>>> java_options(Path("/no/such/archive"))
''
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext

ARCHIVE = Path(sys.prefix) / "share" / "millrace" / "spark-classes.jsa"
_ASKED_FOR = "JDK_JAVA_OPTIONS"
"""The variable with more options of every Java that is started."""
_END_S = 300.0
"""Writing takes some ten seconds of a processor."""


def java_options(archive: Path = ARCHIVE) -> str:
    """The options with which Java starts from the archive; none if there is none.

    An archive that does not fit is passed over without a word.
    """
    if not archive.is_file():
        return ""
    return f'"-XX:SharedArchiveFile={archive}" -Xshare:auto -Xlog:cds=off -Xlog:class+path=off'


@contextmanager
def archived(archive: Path = ARCHIVE) -> Iterator[None]:
    """Have the Spark that starts inside the block leave its classes in the archive.

    Raises:
        OSError: Java wrote none; the text has the path.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.unlink(missing_ok=True)
    unfinished = archive.with_suffix(".unfinished")
    before = os.environ.get(_ASKED_FOR)
    wanted = f'"-XX:ArchiveClassesAtExit={unfinished}" -Xlog:cds=off'
    os.environ[_ASKED_FOR] = wanted if before is None else f"{before} {wanted}"
    try:
        yield
        _end_java()
        unfinished.replace(archive)
    finally:
        unfinished.unlink(missing_ok=True)
        if before is None:
            del os.environ[_ASKED_FOR]
        else:
            os.environ[_ASKED_FOR] = before


def _end_java() -> None:
    """End the Java process, which outlives a session, and wait until it has."""
    gateway = SparkContext._gateway
    assert gateway is not None, "a session was started inside the block"
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_END_S)
    SparkContext._gateway = SparkContext._jvm = None
