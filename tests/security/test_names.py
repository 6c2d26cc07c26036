"""What is built from a person's name (keys, folders, topics) is no other name's, and never a pattern."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

import pytest
import redis
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.urls import Resolver404, resolve
from hypothesis import given
from hypothesis import strategies as st

from backend.catalog.models import NAME as QUERY_NAME
from backend.deployments.actions import create_topology
from backend.streams.actions import StreamSpec, create_stream, delete_stream
from backend.streams.models import NAME as STREAM_NAME
from backend.topologies.models import NAME as TOPOLOGY_NAME
from jobs import protocol
from jobs.protocol import appended_key, dead_letters_key, results_key, stream_key
from jobs.sinks.kafka.topics import COMMITS, Topics
from jobs.sinks.parquet import result_folder
from optimizer.algebra.types import ColumnType

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = (
    *("last", "result", "results", "appended", "dead", "events", "control", "mark", "commits", "check"),
    *("*", "?", "[a-z]", "a*", "**", "\\*", "{a,b}", ":", "a:b", ":last", "a:last", "last:", "a:b:last"),
    *(".", "..", "...", "a/b", "/", "../x", "a\\b", "%", "%2A", "%3A", "a b", " ", "", "\n", "\0", "a\0b"),
    *("A", "a", "_", "-", "--x", "é", "e\u0301", "\u212a", "k", "\U0001f600", "\ud800", "x" * 300),
    *("late flights", "late_flights", "late.20flights", "millrace.commits", ".63ommits", "CON", "nul"),
)
names = st.sampled_from(HOSTILE) | st.text(alphabet="a:*?[]./\\%_-last2", max_size=6) | st.text(max_size=8)


def keys(name: str, other: str) -> dict[str, str]:
    """Every key that Redis has for topologies, streams and queries of these two names."""
    return {
        "control": protocol.control_key(name),
        "events": protocol.events_key(name),
        "statistics": protocol.statistics_key(name),
        "samples": protocol.samples_key(name),
        "check": protocol.check_key(name),
        "stream": stream_key(name),
        # By a row's number: another one for every name.
        "sample": protocol.sample_key(name, int.from_bytes(b"1" + other.encode("utf-8", "surrogatepass"))),
        "results": results_key(name, other),
        "dead": dead_letters_key(name, other),
        "appended results": appended_key(results_key(name, other)),
        "appended letters": appended_key(dead_letters_key(name, other)),
        "mark": protocol.MARK_KEY,
    }


ONE_NAME = {"control", "events", "statistics", "samples", "check", "stream"}


def test_no_key_function_is_left_out() -> None:
    functions = {one.removesuffix("_key") for one in vars(protocol) if one.endswith("_key")}
    assert functions == ONE_NAME | {"results", "dead_letters", "appended", "sample"}


@given(names, names, names, names)
def test_two_keys_are_one_only_for_the_same_names(a: str, b: str, c: str, d: str) -> None:
    for kind, key in keys(a, b).items():
        for another, other in keys(c, d).items():
            same = kind == another and ((a == c and (b == d or kind in ONE_NAME)) or kind == "mark")
            assert (key == other) is same, (kind, another)


@given(names, names, names, names)
def test_no_key_is_a_pattern_of_another_or_goes_on_where_it_ends(a: str, b: str, c: str, d: str) -> None:
    for key in keys(a, b).values():
        assert not re.search(r"[*?\[\]\\^\s]", key)
        for other in keys(c, d).values():
            assert key == other or not fnmatchcase(other, key)
            assert not other.startswith(f"{key}:"), (key, other)


@given(names, names)
def test_no_two_queries_have_one_folder_or_topic(a: str, b: str) -> None:
    for name in (a, b):
        if "\ud800" in name:
            return
        assert Path("/out", result_folder(name)).resolve().parent == Path("/out/results") or not name
        assert not Path(result_folder(name)).name.startswith(".")
    assert (result_folder(a) == result_folder(b)) is (a == b)
    for pattern in ("millrace.{query}", "{query}", "{query}.commits", "millrace.c{query}"):
        topics = Topics(pattern)
        assert (topics.of(a) == topics.of(b)) is (a == b)
        assert COMMITS not in (topics.of(a), topics.of(b)) or not (a and b)
        assert re.fullmatch(r"[a-zA-Z0-9._-]*", topics.of(a))


@pytest.mark.parametrize("name", ["millrace", "commits", "ommits", "millrace.commits"])
def test_no_querys_topic_is_the_one_of_commits(name: str) -> None:
    for pattern in ("millrace.{query}", "{query}", "{query}.commits", "millrace.c{query}"):
        assert Topics(pattern).of(name) != COMMITS


@pytest.mark.parametrize("name", [one for one in HOSTILE if not re.fullmatch(r"[a-z_-][a-z_-]{0,62}", one)])
def test_no_hostile_name_is_taken(name: str) -> None:
    """So that folders may be called by what the registries hold."""
    for validator in (QUERY_NAME, STREAM_NAME, TOPOLOGY_NAME):
        with pytest.raises(ValidationError):
            validator(name)
    if "/" not in name and name not in ("", ".", ".."):
        with pytest.raises((Resolver404, UnicodeEncodeError)):
            resolve(f"/api/topologies/{name}/")


def test_only_the_protocol_makes_keys() -> None:
    """And nobody looks for keys by a pattern: what is deleted is named."""
    found = []
    for file in _sources():
        text = file.read_text()
        if re.search(r"f[\"']millrace:[a-z{]", text) and file.parent.name != "protocol":
            found.append(f"{file.relative_to(ROOT)} makes a key")
        if re.search(r"\bscan_iter\(|\b(connection|client|redis|bus)(\(\))?\.keys\(", text):
            found.append(f"{file.relative_to(ROOT)} looks for keys")
        if re.search(r"_key\([^()]*[\"'][^\"']*[*?\[]", text):
            found.append(f"{file.relative_to(ROOT)} has a pattern for a name")
    assert not found, found


def _sources() -> Iterator[Path]:
    for package in ("backend", "jobs", "optimizer"):
        yield from (ROOT / package).rglob("*.py")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["weather", "last", "dead", "appended"])
def test_a_deleted_stream_leaves_others_alone(
    name: str,
    owner: User,
    bus: redis.Redis,
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    columns = (("at", ColumnType.TIMESTAMP),)
    record = create_stream(owner, StreamSpec(name, columns, "at"))
    kept = set()
    for topology, stream in (*combinations(["flights", "last", "dead", name], 2), ("flights", name)):
        create_topology(topology)
        letters = dead_letters_key(topology, stream)
        for key in (letters, appended_key(letters), stream_key(stream), results_key(topology, stream)):
            bus.set(key, "x")
            if stream != name or key.startswith("millrace:results"):
                kept.add(key)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        delete_stream(owner, record)
    assert set(bus.keys("millrace:*")) == kept


def test_folders_are_told_apart_by_the_file_system(tmp_path: Path) -> None:
    """Whatever a folder may be called: as many folders as names."""
    fitting = [one for one in HOSTILE if "\ud800" not in one and 0 < len(one) < 200]
    for name in fitting:
        (tmp_path / result_folder(name)).mkdir(parents=True)
    assert len(list((tmp_path / "results").iterdir())) == len(fitting)
    shutil.rmtree(tmp_path / "results")
