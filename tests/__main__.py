"""`python -m tests [SUITE ...]`: the test suites one after the other, each in its own process.

Django, Spark and a browser in one process would get into each other's way, and one suite's crash
must not hide the others. Ends with one line per suite, and with 1 if any failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
SUITES = {
    "unit": [sys.executable, "-m", "pytest", "tests/unit"],
    "frontend": ["npx", "--no-install", "vitest", "run"],
    # Who gets in without an account is asked at every change, not only when security is tested.
    "api": [sys.executable, "-m", "pytest", "tests/api", "tests/security/test_endpoints.py"],
    "runtime": [sys.executable, "-m", "pytest", "-m", "not long", "tests/runtime"],
    "oracle": [sys.executable, "-m", "pytest", "-m", "not long", "tests/oracle"],
    "browser": [sys.executable, "-m", "pytest", "tests/browser"],
    "load": [sys.executable, "-m", "pytest", "tests/load"],
    "soak": [
        *(sys.executable, "-m", "tests.soak", "--minutes", "1.5", "--rate", "400"),
        *("--fault-every", "10", "--change-every", "3", "--exact"),
    ],
}
LONG_SUITES = {
    "long": [sys.executable, "-m", "pytest", "-m", "long", "tests/runtime", "tests/oracle"],
    "faults": [sys.executable, "-m", "pytest", "tests/faults"],
    "security": [sys.executable, "-m", "pytest", "tests/security"],
    "docker": [sys.executable, "-m", "pytest", "tests/docker"],
    "postgres": [sys.executable, "-m", "pytest", "tests/postgres"],
    "cluster": [sys.executable, "-m", "pytest", "tests/cluster"],
    "kafka": [sys.executable, "-m", "pytest", "-rs", "tests/kafka"],
}
"""Run by name or by `all`: together they take longer than anybody waits before a commit."""
ALL_SUITES = {**SUITES, **LONG_SUITES}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests")
    known = f"{', '.join(ALL_SUITES)}, or all (default: {', '.join(SUITES)})"
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {known}")
    chosen = parser.parse_args().suites or list(SUITES)
    if chosen == ["all"]:
        chosen = list(ALL_SUITES)
    for name in chosen:
        if name not in ALL_SUITES:
            parser.error(f"found suite {name}, expected one of {known}")
    lines, failed = [], False
    for name in chosen:
        sys.stdout.write(f"== {name}\n")
        sys.stdout.flush()
        began = time.monotonic()
        code = subprocess.run(ALL_SUITES[name], cwd=_ROOT, check=False).returncode
        failed |= code != 0
        verdict = "passed" if code == 0 else f"FAILED (exit code {code})"
        lines.append(f"{name:<10} {verdict:<22} {time.monotonic() - began:6.0f} s\n")
    left_out = [name for name in ALL_SUITES if name not in chosen]
    if chosen == list(SUITES):
        lines.append(f"left out, as they take longer: {', '.join(left_out)} (make test ONLY=..., or all)\n")
    sys.stdout.write("".join(["\n", *lines]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
