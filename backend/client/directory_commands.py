"""`millrace import`, `plan` and `apply`: queries in git."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from backend.client.directory import IDENTITY, read_directory, write_directory
from backend.client.directory_documents import DirectoryPlan
from backend.client.directory_report import as_markdown, as_text
from backend.client.errors import ClientError, Unreachable
from backend.client.millrace import Millrace

CHANGES = 3
"""The exit code of a plan with changes."""
_POLL_SECONDS = 1.0
Command = Callable[[str, Callable[[Millrace, argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(command: Command) -> None:
    """Add the commands to the command line."""
    imported = command("import", _import, "write what runs into a fresh directory")
    imported.add_argument("folder", type=Path, metavar="DIR")
    imported.add_argument("--topology", help="only its queries")
    plan = command("plan", _plan, "what applying a directory would change and cost; nothing is written")
    plan.add_argument("folder", type=Path, metavar="DIR")
    plan.add_argument("--prune", action="store_true", help="as if applied so")
    form = plan.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="for a pull request")
    form.add_argument("--json", action="store_true", help="the server's document")
    apply = command("apply", _apply, "make streams, queries and deployments as a directory says")
    apply.add_argument("folder", type=Path, metavar="DIR")
    apply.add_argument("--prune", action="store_true", help="delete what was applied from it and is gone")
    apply.add_argument("--wait", type=float, default=120.0, metavar="S", help="until it runs (120; 0: no)")
    test = command("test", _no_server, "answer a directory's fixtures in many ways, on this machine")
    test.set_defaults(local=_test)
    test.add_argument("folder", type=Path, metavar="DIR", help="with queries/NAME.test.yaml")
    test.add_argument("--query", action="append", default=[], metavar="NAME", help="only its cases")
    test.add_argument("--seed", type=int, default=1, metavar="N", help="of the arrival orders (1)")
    test.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    test.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit's XML, for CI")


def _import(millrace: Millrace, given: argparse.Namespace) -> int:
    files = millrace.files_of_what_runs(given.topology)
    if not files:
        raise ClientError("no topology answers a query: there is nothing to import")
    name = given.folder.resolve().name
    for path in write_directory(given.folder, {**files, IDENTITY: f"name: {name}\n"}):
        print(given.folder / path)
    return 0


def _plan(millrace: Millrace, given: argparse.Namespace) -> int:
    plan = millrace.plan_directory(read_directory(given.folder), given.prune)
    if given.json:
        print(json.dumps(plan.document, indent=2, ensure_ascii=False))
    else:
        sys.stdout.write(as_markdown(plan) if given.markdown else as_text(plan))
    return _code(plan)


def _test(given: argparse.Namespace) -> int:
    """Run the distribution's own command: fixtures are answered by the runtime itself."""
    if not _is_whole():
        sys.stderr.write(
            "millrace: test needs the whole distribution, of which only the client is installed here; "
            "run it where Millrace is checked out, or in its image\n"
        )
        return 1
    words = [sys.executable, "-m", "jobs", "test", str(given.folder), "--seed", str(given.seed)]
    words += [word for name in given.query for word in ("--query", name)]
    words += ["--json"] if given.json else []
    words += [] if given.junit is None else ["--junit", str(given.junit)]
    return subprocess.run(words, check=False).returncode


def _is_whole() -> bool:
    try:
        return importlib.util.find_spec("jobs.verification") is not None
    except ModuleNotFoundError:
        return False


def _no_server(_: Millrace, __: argparse.Namespace) -> int:
    raise AssertionError("fixtures need no server")


def _code(plan: DirectoryPlan) -> int:
    if plan.refused:
        return 1
    return CHANGES if plan.changed else 0


def _apply(millrace: Millrace, given: argparse.Namespace) -> int:
    directory = read_directory(given.folder)
    try:
        applied = millrace.apply_directory(directory, given.prune)
    except Unreachable as error:
        told = "everything was applied or nothing: see millrace plan, or apply again"
        raise Unreachable(f"{error}; {told}") from error
    for line in applied.done:
        print(line, flush=True)
    if not applied.done:
        print(f"{directory.name}: no change")
    if given.wait <= 0:
        return 0
    deadline = time.monotonic() + given.wait
    late = []
    for topology, revision in applied.awaited:
        if millrace.wait_for_revision(topology, revision, max(0.0, deadline - time.monotonic())):
            print(f"{topology} runs revision {revision}", flush=True)
        else:
            late.append(topology)
    if late:
        sys.stderr.write(
            f"millrace: {', '.join(late)} did not run it within {given.wait:g} s; see: millrace status\n"
        )
        return 1
    return 0
