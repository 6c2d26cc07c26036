"""`python -m jobs test`: a directory's fixtures, answered in every way."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

from jobs.verification.verify import Verdict, Verification
from optimizer.udf.reader import SETTING as FUNCTIONS
from optimizer.workload import functions_file, load_workload


def test(given: argparse.Namespace) -> int:
    """Answer all cases; returns 0 if all pass, else 1.

    Raises `InputError` for a directory or fixture that cannot be read.
    """
    directory: Path = given.directory
    workload = load_workload(directory)
    own = functions_file(directory)
    if own is not None:
        # Expressions look functions up by it.
        os.environ[FUNCTIONS] = str(own.absolute())
    verification = Verification(directory, workload, given.query, given.seed)
    verdicts = []
    for verdict in verification.verdicts():
        verdicts.append(verdict)
        if not given.json:
            print(told(verdict), flush=True)
    if given.junit is not None:
        given.junit.write_bytes(junit(directory.name, verdicts))
    failed = sum(not verdict.passed for verdict in verdicts)
    if given.json:
        cases = [{**asdict(verdict), "passed": verdict.passed} for verdict in verdicts]
        print(json.dumps({"cases": cases, "passed": len(verdicts) - failed, "failed": failed}, indent=2))
    else:
        ways = sum(verdict.ways for verdict in verdicts)
        summary = f"{len(verdicts) - failed} of {len(verdicts)} cases pass, answered in {ways} ways"
        print(summary, file=sys.stderr if failed else sys.stdout)
    return 1 if failed else 0


def told(verdict: Verdict) -> str:
    """One case in one line, and its first difference below it."""
    head = f"{verdict.query}: {verdict.case}"
    if verdict.difference is None:
        return f"pass  {head} ({verdict.ways} ways, {verdict.seconds:.1f} s)"
    lines = [f"FAIL  {head}", f"  {verdict.file}:{verdict.line}: by {verdict.way}:"]
    return "\n".join([*lines, *(f"    {line}" for line in verdict.difference.splitlines())])


def junit(name: str, verdicts: Sequence[Verdict]) -> bytes:
    """The report that CI systems show, a test case for each case."""
    failed = sum(not verdict.passed for verdict in verdicts)
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(len(verdicts)),
        failures=str(failed),
        errors="0",
        time=f"{sum(verdict.seconds for verdict in verdicts):.3f}",
    )
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=verdict.query,
            name=verdict.case,
            file=verdict.file,
            line=str(verdict.line),
            time=f"{verdict.seconds:.3f}",
        )
        if verdict.difference is not None:
            failure = ElementTree.SubElement(case, "failure", message=f"differs by {verdict.way}")
            failure.text = verdict.difference
    root = ElementTree.Element("testsuites")
    root.append(suite)
    text: bytes = ElementTree.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + text
