"""Known weaknesses of the pinned dependencies, as the databases behind `pip-audit` and `npm audit` say.

Exit codes: 0 none is known, 1 some are, 3 a database could not be asked. What was not looked at never
looks clean.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import node
from console import ROOT, CannotInstall, run, say
from packages import PYTHON, VENV

_PIP_AUDIT = "pip-audit==2.9.0"
NONE_KNOWN, SOME_KNOWN, NOT_ASKED = 0, 1, 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one tool found; `why_not` says why it could not look."""

    weaknesses: tuple[str, ...] = ()
    why_not: str | None = None


def audit() -> int:
    """Ask both; returns the exit code."""
    verdicts = {"python": _python(), "node": _node()}
    for part, verdict in verdicts.items():
        if verdict.why_not is not None:
            say(part, f"NOT AUDITED: {verdict.why_not}")
        elif not verdict.weaknesses:
            say(part, "no weakness of a pinned package is known")
        for weakness in verdict.weaknesses:
            say(part, weakness)
    if any(verdict.weaknesses for verdict in verdicts.values()):
        return SOME_KNOWN
    return NOT_ASKED if any(v.why_not is not None for v in verdicts.values()) else NONE_KNOWN


def read_pip_audit(output: str, errors: str) -> Verdict:
    """From what `pip-audit --format json` printed: nothing that is JSON means that it could not ask."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Verdict(why_not=_last_line(errors))
    skipped = [f"{one['name']}: {one['skip_reason']}" for one in packages if "skip_reason" in one]
    if skipped:
        return Verdict(
            why_not=f"{len(skipped)} of {len(packages)} packages could not be looked up, {skipped[0]}"
        )
    return Verdict(
        tuple(
            f"{one['name']} {one['version']}: {known['id']}, "
            f"mended in {', '.join(known['fix_versions']) or 'no version'}"
            for one in packages
            for known in one["vulns"]
        )
    )


def read_npm_audit(output: str, errors: str) -> Verdict:
    """From what `npm audit --json` printed."""
    try:
        found = json.loads(output)["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        # Its last line only says where its log is.
        said = [line for line in errors.splitlines() if line.startswith("npm error") and " log " not in line]
        return Verdict(why_not=_last_line("\n".join(said) or output))
    return Verdict(tuple(f"{name}: {one['severity']}, {one['range']}" for name, one in sorted(found.items())))


def _python() -> Verdict:
    # In an environment of its own: what it needs is none of the product's.
    folder = VENV / "audit"
    tool = folder / "bin" / "pip-audit"
    if not tool.exists():
        failed = run([PYTHON, "-m", "venv", folder]) or run(
            [folder / "bin" / "python", "-m", "pip", "install", "-q", _PIP_AUDIT]
        )
        if failed:
            raise CannotInstall(f"{_PIP_AUDIT} cannot be installed:\n{failed}")
    lock = ROOT / "requirements.lock"
    return read_pip_audit(
        *_printed(
            [tool, "-r", lock, "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
        )
    )


def _node() -> Verdict:
    folder = node.find()
    if folder is None:
        return Verdict(why_not="there is no npm; call make setup")
    return read_npm_audit(*_printed([folder / "npm", "audit", "--json"]))


def _printed(command: Sequence[str | Path]) -> tuple[str, str]:
    done = subprocess.run(
        [os.fspath(part) for part in command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() not in ("", "}", "{")]
    return lines[-1][:300] if lines else "it ended without a word"
