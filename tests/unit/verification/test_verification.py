"""`millrace test`: green means DuckDB and the runtime agree in every way, and defects are found."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

import pytest

from jobs.driver import batch_protocol
from jobs.verification import execution
from jobs.verification.setups import KILL_POINTS
from jobs.verification.verify import Verdict, Verification
from optimizer.workload import load_workload

ROOT = Path(__file__).resolve().parents[3]
STREAMS = """
streams:
  departures:
    event_time: at
    lateness: 5 minutes
    columns: {at: timestamp, flight: string, origin: string, delay: double}
  weather: {event_time: at, columns: {at: timestamp, origin: string, wind: double}}
"""
WINDY = """SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.origin AND w.wind > 20
"""
CALM = """SELECT d.flight FROM departures AS d WHERE NOT EXISTS (
  SELECT 1 FROM weather AS w
  WHERE w.origin = d.origin AND w.at BETWEEN d.at - INTERVAL '1' HOUR AND d.at + INTERVAL '10' MINUTE)
"""
HOURLY = """SELECT d.origin, COUNT(*) AS flights, AVG(d.delay) AS delay, TUMBLE(d.at, INTERVAL 1 HOUR) AS hour
FROM departures AS d GROUP BY d.origin, hour
"""
GIVEN = """
  given:
    departures:
      - {at: 2013-01-01T10:00:00Z, flight: UA1, origin: EWR, delay: 5}
      - {at: 2013-01-01T10:03:00Z, flight: UA2, origin: EWR, delay: 0.1}
      - {at: 2013-01-01T12:04:00Z, flight: UA4, origin: JFK}
      - {at: null, flight: UA5, origin: JFK}
    weather:
      - {at: 2013-01-01T10:00:00Z, origin: EWR, wind: 25}
      - {at: 2013-01-01T11:02:00Z, origin: EWR, wind: 30.5}
      - {at: 2013-01-01T12:00:00Z, origin: JFK, wind: 20}
  late:
    departures:
      - {at: 2013-01-01T11:58:59Z, flight: UA9, origin: EWR}
"""
EXPECT = """
  expect:
    - {flight: UA1, wind: 25}
    - {flight: UA2, wind: 25}
    - {flight: UA2, wind: 30.5}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    for name, text in (("windy", WINDY), ("calm", CALM), ("hourly", HOURLY)):
        (tmp_path / f"queries/{name}.sql").write_text(text)
    (tmp_path / "queries/windy.test.yaml").write_text(f"in the wind:{GIVEN}{EXPECT}")
    return tmp_path


def verdicts(folder: Path, *only: str) -> list[Verdict]:
    return list(Verification(folder, load_workload(folder), only).verdicts())


def test_green_means_every_way_and_every_kill(folder: Path) -> None:
    (folder / "queries/calm.test.yaml").write_text(
        "no weather:\n  given:\n    weather: [{at: 2013-01-01 10:05, origin: EWR}]\n    departures:\n"
        "      - {at: 2013-01-01 10:00, flight: UA1, origin: EWR}\n"
        "      - {at: 2013-01-01 11:33, flight: UA2, origin: EWR}\n  expect: [{flight: UA2}]\n"
    )
    (folder / "queries/hourly.test.yaml").write_text(
        "two hours:\n  given:\n    departures:\n"
        "      - {at: 2013-01-01T10:00:00Z, origin: EWR, delay: 5}\n"
        "      - {at: 2013-01-01T10:03:00Z, origin: EWR, delay: 0.1}\n"
        "      - {at: 2013-01-01T12:00:00Z, origin: EWR}\n"
        "  expect:\n    - {origin: EWR, flights: 2, delay: 2.55, hour: 2013-01-01 10:00}\n"
        "    - {origin: EWR, flights: 1, hour: 2013-01-01 12:00}\n"
    )
    killed: Counter[str] = Counter()
    real = execution.Execution._end_in

    def noted(self: execution.Execution, planned: object, kill: str) -> None:
        before = self._protocol
        real(self, planned, kill)  # type: ignore[arg-type]
        assert self._protocol is not before
        killed[kill] += self._protocol.is_committed(planned.batch)  # type: ignore[attr-defined]
        killed[f"{kill}, all"] += 1

    with patch.object(execution.Execution, "_end_in", noted):
        found = verdicts(folder)
    assert [(one.query, one.case, one.difference) for one in found] == [
        ("calm", "no weather", None),
        ("hourly", "two hours", None),
        ("windy", "in the wind", None),
    ]
    assert all(one.ways == 11 for one in found)
    # Behind its manifest a batch is committed, before it none is: the process really ended there.
    assert killed["behind its manifest"] == killed["behind its manifest, all"] > 3
    assert killed["before its manifest"] == killed["in its tasks"] == 0
    assert all(killed[f"{point}, all"] > 3 for point in KILL_POINTS)


def test_decimals_are_joined_summed_and_turned_away(tmp_path: Path) -> None:
    """In groups of every kind, as-of joins and keys of two scales; a product beyond 38 digits is NULL."""
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(
        "streams:\n  o: {event_time: at, columns: {at: timestamp, id: int, price: 'decimal(12,2)'}}\n"
        "  p: {event_time: at, columns: {at: timestamp, paid: 'decimal(20,4)', most: 'decimal(38,0)'}}\n"
    )
    orders = (
        "  given:\n    o:\n"
        "      - {at: 2013-01-01 10:00, id: 1, price: 0.10}\n"
        "      - {at: 2013-01-01 10:00, id: 2, price: 0.20}\n"
        "      - {at: 2013-01-01 10:04, id: 3, price: 9999999999.99}\n"
        "      - {at: 2013-01-01 11:00, id: 4}\n"
    )
    payments = (
        "    p:\n"
        "      - {at: 2013-01-01 09:59, paid: 0.1, most: 2}\n"
        "      - {at: 2013-01-01 10:03, paid: 0.2000, most: 99999999999999999999999999999999999999}\n"
    )
    ten, four = "2013-01-01 10:00", "2013-01-01 11:00"
    summed = "SUM(o.price) AS total, MIN(o.price) AS least, MAX(o.price) AS most, AVG(o.price) AS mean"
    row = "total: 10000000000.29, least: 0.1, most: 9999999999.99, mean: 3333333333.43"
    cases = {
        "bucket": (
            f"SELECT TUMBLE(o.at, INTERVAL 1 HOUR) AS b, {summed} FROM o GROUP BY b",
            f"[{{b: {ten}, {row}}}, {{b: {four}}}]",
        ),
        "running": (f"SELECT {summed} FROM o", f"[{{{row}}}]"),
        "session": (
            f"SELECT SESSION(o.at, INTERVAL 10 MINUTES) AS b, {summed} FROM o GROUP BY b",
            f"[{{b: {ten}, {row}}}, {{b: {four}}}]",
        ),
        "keys": (
            "SELECT o.id, p.paid - o.price AS rest FROM o, p WHERE o.price = p.paid",
            "[{id: 1, rest: 0}, {id: 2, rest: 0}]",
        ),
        "newest": (
            "SELECT o.id, o.price + p.paid AS s FROM o ASOF JOIN p [RANGE 1 HOUR] ON o.at >= p.at",
            "[{id: 1, s: 0.2}, {id: 2, s: 0.3}, {id: 3, s: 10000000000.19}, {id: 4}]",
        ),
        "overflow": (
            "SELECT o.id, p.most * 10 AS m FROM o, p WHERE o.price = p.paid",
            "[{id: 1, m: 20}, {id: 2}]\n  dead_letters: []",
        ),
    }
    for name, (query, expect) in cases.items():
        (tmp_path / f"queries/{name}.sql").write_text(query)
        (tmp_path / f"queries/{name}.test.yaml").write_text(
            f"one:\n{orders}{payments if ' p' in query else ''}  expect: {expect}\n"
        )
    found = {one.query: one.difference for one in verdicts(tmp_path)}
    assert found == dict.fromkeys(cases)
    test = tmp_path / "queries/keys.test.yaml"
    test.write_text(test.read_text().replace("rest: 0}]", "rest: 0.01}]"))
    (wrong,) = verdicts(tmp_path, "keys")
    assert wrong.difference == (
        '2 results expected, 2 found\nmissing: {"id": 2, "rest": "0.0100"}\n'
        'too many: {"id": 2, "rest": "0.0000"}'
    )


def test_groups_without_an_end_come_to_their_table(folder: Path) -> None:
    text = "SELECT d.origin, COUNT(*) AS n FROM departures AS d GROUP BY d.origin HAVING COUNT(*) < 2"
    (folder / "queries/seldom.sql").write_text(text)
    given = "".join(
        f"      - {{at: 2013-01-01 10:0{minute}, origin: {origin}}}\n"
        for minute, origin in enumerate(("EWR", "JFK", "EWR", "LGA", "LGA"))
    )
    case = f"seen once:\n  given:\n    departures:\n{given}  expect: [{{origin: JFK, n: 1}}]\n"
    (folder / "queries/seldom.test.yaml").write_text(case)
    assert [(one.case, one.difference, one.ways) for one in verdicts(folder, "seldom")] == [
        ("seen once", None, 11)
    ]
    (folder / "queries/seldom.test.yaml").write_text(case.replace("n: 1", "n: 2"))
    (wrong,) = verdicts(folder, "seldom")
    assert wrong.difference is not None


def test_a_wrong_expectation_names_the_first_difference(folder: Path) -> None:
    test = folder / "queries/windy.test.yaml"
    test.write_text(test.read_text().replace("wind: 30.5}\n", "wind: 31}\n", 9).replace("31", "30.5", 1))
    (found,) = verdicts(folder)
    assert (found.way, found.line) == ("DuckDB", 1)
    assert found.difference == (
        '3 results expected, 3 found\nmissing: {"flight": "UA2", "wind": 31.0}\n'
        'too many: {"flight": "UA2", "wind": 30.5}'
    )


def test_dead_letters_are_compared(folder: Path) -> None:
    test = folder / "queries/windy.test.yaml"
    right = test.read_text() + (
        "  dead_letters:\n"
        "    - {stream: departures, reason: late, tuple: {flight: UA9, at: 2013-01-01 11:58:59}}\n"
        "    - {stream: departures, reason: null event time}\n"
    )
    test.write_text(right)
    assert verdicts(folder)[0].difference is None
    test.write_text(right.replace("flight: UA9, at", "flight: UA8, at"))
    (found,) = verdicts(folder)
    assert found.difference is not None
    assert found.difference.startswith('missing dead letter: {"stream": "departures", "reason": "late"')
    test.write_text(right.replace("    - {stream: departures, reason: null event time}\n", ""))
    (found,) = verdicts(folder)
    assert found.difference is not None
    assert found.difference.startswith("dead letter too many: departures: null event time")


def _shown_twice() -> Iterator[None]:
    """A commit that is forgotten: its batch is worked on again, under other names of files."""
    real = batch_protocol.BatchProtocol.recover

    def forgetful(self: batch_protocol.BatchProtocol) -> None:
        real(self)
        if self.last is not None and self.last.batch:
            for file in self._settings.output.glob("results/*/[0-9]*.parquet"):  # type: ignore[union-attr]
                file.with_name(f"{int(file.name[:8]) + 9000:08d}{file.name[8:]}").write_bytes(
                    file.read_bytes()
                )

    with patch.object(batch_protocol.BatchProtocol, "recover", forgetful):
        yield


def _not_shown() -> Iterator[None]:
    """Files of a batch that was committed before its end stay hidden."""
    with patch.object(batch_protocol.BatchProtocol, "recover", lambda self: None):
        yield


@pytest.mark.parametrize(
    ("defect", "way"),
    [(_shown_twice, "every batch killed"), (_not_shown, "every batch killed behind its manifest")],
)
def test_planted_defects_are_found(folder: Path, defect: Callable[[], Iterator[None]], way: str) -> None:
    steps = defect()
    next(steps)
    try:
        (found,) = verdicts(folder)
    finally:
        next(steps, None)
    assert found.way is not None
    assert found.way.startswith(way)
    assert found.difference is not None
    assert "results expected" in found.difference


def test_the_command_and_its_reports(folder: Path) -> None:
    (folder / "queries/calm.test.yaml").write_text("nothing <comes>:\n  expect: [{flight: X}]\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "backend.client", "test", str(folder), *words]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    done = run("--junit", str(folder / "out.xml"), "--query", "calm")
    assert done.returncode == 1, done.stderr
    assert "FAIL  calm: nothing <comes>" in done.stdout
    assert f"{folder}/queries/calm.test.yaml:1: by DuckDB:" in done.stdout
    assert 'missing: {"flight": "X"}' in done.stdout
    suite = ElementTree.fromstring((folder / "out.xml").read_text())[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite[0].get("name") == "nothing <comes>"
    document = json.loads(run("--json", "--query", "windy").stdout)
    assert (document["passed"], document["failed"], document["cases"][0]["ways"]) == (1, 0, 11)
    bad = run("--query", "wndy")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "did you mean windy?" in bad.stderr
    (folder / "queries/hourly.test.yaml").write_text("x: {expect: 3}")
    bad = run()
    assert bad.returncode == 2
    place = f"{folder}/queries/hourly.test.yaml:1:13: x.expect"
    assert bad.stderr == f"{place}: found 3, expected a list of {{column: value, ...}}\n"
