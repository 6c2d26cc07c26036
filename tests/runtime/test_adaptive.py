"""The experiments of section 7.3.2: an adaptive replay recovers from a change of data, a static one not.

Nothing here is measured in seconds of a clock: plans, the epochs in which they change, and the tuples
sent per batch tell it all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from tests.bench.adaptive.replays import Replayed, replay
from tests.bench.adaptive.scenarios import Scenario, scenario

pytestmark = pytest.mark.long


@dataclass(frozen=True, slots=True)
class Both:
    scenario: Scenario
    adaptive: Replayed
    static: Replayed
    results: int


@pytest.fixture(scope="module", params=["jump", "skew"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    made = scenario(request.param, 0.25)
    folder = tmp_path_factory.mktemp(request.param)
    made.write(folder)
    adaptive = replay(made, folder, folder / "adaptive", adaptive=True)
    static = replay(made, folder, folder / "static", adaptive=False)
    return Both(made, adaptive, static, expected(made, folder / "data"))


def expected(made: Scenario, data: Path) -> int:
    windows = [
        f"epoch_us({a}.ts) - epoch_us({b}.ts) <= {made.window_s * 1_000_000}"
        for a in "rstu"
        for b in "rstu"
        if a != b
    ]
    tables = ", ".join(f"read_parquet('{data}/{name}/*.parquet') AS {name}" for name in "rstu")
    where = " AND ".join(["r.a = s.a", "s.b = t.b", "t.c = u.c", *windows])
    with duckdb.connect() as connection:
        row = connection.execute(f"SELECT count(*) FROM {tables} WHERE {where}").fetchone()
    assert row is not None
    return int(row[0])


def test_both_answer_completely(both: Both) -> None:
    assert both.adaptive.metrics["results"] == both.static.metrics["results"] == {"linear4": both.results}
    assert both.results > 0


def test_the_plan_changes_two_epochs_after_the_data(both: Both) -> None:
    jump = both.scenario.jump_epoch
    assert both.static.switched_epochs == []
    assert both.adaptive.switched_epochs[0] == jump + 2
    (switch,) = both.adaptive.metrics["epochs"][jump + 2]["switches"]
    assert switch["cause"]["statistic"] == "s.b = t.b"
    assert switch["cause"]["to"] < switch["cause"]["from"] / 10
    assert switch["predicted_saving"] > 0
    # Measured once the stores hold a whole window of the changed data.
    assert switch["actual_saving_epoch"] == jump + 1 + both.scenario.window_s
    assert switch["actual_saving"] == pytest.approx(switch["predicted_saving"], rel=0.5)


def test_a_result_of_s_and_t_is_kept_from_then_on(both: Both) -> None:
    def joins_s_and_t(label: str) -> bool:
        return {"s", "t"} <= set(label.split("[", maxsplit=1)[0].split("*"))

    jump, recovered = both.scenario.jump_epoch, both.scenario.recovered_epoch
    assert not any(map(joins_s_and_t, both.adaptive.stores_in(jump)))
    assert any(map(joins_s_and_t, both.adaptive.stores_in(recovered)))


def test_adaptive_recovers_and_static_does_not(both: Both) -> None:
    """Within two epochs plus one window; afterwards S, T and R send next to nothing but themselves."""
    recovered = both.scenario.recovered_epoch
    epochs = range(recovered, len(both.adaptive.metrics["epochs"]))
    assert len(epochs) >= 2
    arriving = sum(both.scenario.rates.values())
    factor = 10 if both.scenario.name == "jump" else 1.5
    for epoch in epochs:
        assert both.adaptive.sent_in(epoch) <= 1.5 * arriving
        assert both.static.sent_in(epoch) >= factor * both.adaptive.sent_in(epoch)


def test_epochs_tell_estimates_beside_actuals(both: Both) -> None:
    epochs = both.adaptive.metrics["epochs"]
    assert [e["epoch"] for e in epochs] == list(range(both.scenario.seconds))
    assert all(e["q_error"]["max"] >= e["q_error"]["median"] >= 1 for e in epochs)
    decided = [e["decision"] for e in epochs if e["decision"]]
    assert {s["source"] for s in decided[0]["statistics"]} <= {"observed", "declared"}
    rates = {s["name"]: s["value"] for s in decided[2]["statistics"] if s["name"].startswith("rate of ")}
    assert rates == pytest.approx(
        {f"rate of {name}": rate for name, rate in both.scenario.rates.items()}, rel=0.1
    )
