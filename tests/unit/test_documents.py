"""The documents lead somewhere: every relative link and every path under docs/ that a file names exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from optimizer.algebra.errors import InputError
from optimizer.logical.retention import retentions
from optimizer.sql import parse_query
from optimizer.workload import load_workload

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)\s]*)?\)")
NAMED = re.compile(r"(?<![\w/.:-])docs/[\w./-]*\w")


def _texts() -> dict[Path, str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    kept = [
        Path(one) for one in listed.stdout.split("\n") if one.endswith((".md", ".py", ".ts", ".tsx", ".yaml"))
    ]
    return {one: (ROOT / one).read_text() for one in kept if (ROOT / one).is_file()}


def test_every_relative_link_of_a_document_leads_to_a_file() -> None:
    # Figures' pages are parts of docs/lab/benchmarks.md, so their links are relative to it.
    texts = {path: text for path, text in _texts().items() if path.suffix == ".md"}
    lost = [
        f"{path}: {link}"
        for path, text in texts.items()
        if path.parent != Path("docs/lab/benchmarks")
        for link in LINK.findall(text)
        if not (ROOT / path.parent / link).exists()
    ]
    assert texts
    assert not lost


def test_the_guide_keeps_tuples_as_long_as_it_says() -> None:
    section = (ROOT / "docs/guide/sql.md").read_text().partition("### Windows that follow from conditions")[2]
    example, told = re.findall(r"```(?:sql)?\n(.*?)```", section, re.DOTALL)[:2]
    catalog = load_workload(ROOT / "backend/demo").catalog
    kept = retentions(parse_query(example, "example", catalog), catalog)
    assert told.splitlines() == [
        f"{one.alias} is kept {one.window.text}: {' and '.join(one.because)}" for one in kept
    ]


def test_the_guide_says_which_queries_of_nexmark_run() -> None:
    text, folder = (ROOT / "docs/guide/nexmark.md").read_text(), ROOT / "tests/bench/nexmark"
    told = dict(re.findall(r"^\| (q\d+) \|[^|]*\| (yes|adapted|no) \|", text, re.MULTILINE))
    workload = load_workload(folder)
    assert list(told) == [f"q{number}" for number in range(23)]
    assert {name for name, runs in told.items() if runs != "no"} == {q.name for q in workload.queries}
    assert f"{len(workload.queries)} of its {len(told)} are" in text
    refused, told_instead = re.findall(r"```(?:sql)?\n(.*?)```", text, re.DOTALL)
    queries = [query for query in refused.split(";") if query.strip()]
    assert len(queries) == list(told.values()).count("no")
    for query, message in zip(queries, told_instead.splitlines(), strict=True):
        with pytest.raises(InputError, match=re.escape(message)):
            parse_query(query, "example", workload.catalog)


def test_every_document_that_a_file_names_exists() -> None:
    named = {(path, name) for path, text in _texts().items() for name in NAMED.findall(text)}
    lost = [f"{path}: {name}" for path, name in sorted(named) if not (ROOT / name).exists()]
    assert named
    assert not lost
