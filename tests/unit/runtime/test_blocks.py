"""Indexes of runs leave out what cannot match and nothing else; pieces stay small and lose nothing."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from jobs.plan.tuples import ARRIVAL
from jobs.storage.chunked_scan import pieces
from jobs.storage.memory_budget import SMALLEST_SHARE_BYTES, share
from jobs.storage.run import RunRef, StateRoot
from jobs.storage.run_index import BLOCK_ROWS, Keys, RunIndex, describe
from optimizer.algebra.errors import InputError
from optimizer.algebra.settings import size


def index(frame: pl.DataFrame, *columns: str) -> RunIndex:
    return RunIndex(frame.height, describe(frame, columns))


def matching(known: RunIndex, sought: dict[str, pl.Series]) -> list[tuple[int, int]]:
    return known.matching({column: Keys(values) for column, values in sought.items()})


def rows_of(found: list[tuple[int, int]]) -> set[int]:
    return {row for start, stop in found for row in range(start, stop)}


def test_one_key_is_in_one_block_and_most_missing_ones_in_none() -> None:
    held = pl.DataFrame({"k": [2 * i for i in range(10 * BLOCK_ROWS)]})
    known = index(held, "k")
    assert matching(known, {"k": pl.Series([6 * BLOCK_ROWS])}) == [(3 * BLOCK_ROWS, 4 * BLOCK_ROWS)]
    assert matching(known, {"k": pl.Series([-1])}) == []
    assert matching(known, {"k": pl.Series([], dtype=pl.Int64)}) == []
    mistaken = sum(bool(matching(known, {"k": pl.Series([2 * i + 1])})) for i in range(1000))
    assert 0 < mistaken < 50  # 2.4 % by the filter's size


def test_what_is_not_indexed_is_read_whole() -> None:
    held = pl.DataFrame({"k": [1, 2], "d": [1.0, float("nan")]})
    assert index(held, "d").order == "d"
    assert matching(index(held, "d"), {"d": pl.Series([5.0])}) == [(0, 2)]
    assert matching(index(held, "k"), {"other": pl.Series([5])}) == [(0, 2)]
    assert matching(RunIndex(0, None), {}) == []


@pytest.mark.parametrize(
    ("held", "sought"),
    [
        (pl.Series([7], dtype=pl.Int32), pl.Series([7], dtype=pl.Int64)),
        (pl.Series([date(2026, 1, 2)]), pl.Series([datetime(2026, 1, 2, tzinfo=UTC)])),
        (pl.Series(["é", None]), pl.Series(["é"])),
    ],
    ids=["numbers", "a day and its midnight", "texts"],
)
def test_equal_values_of_two_types_are_found(held: pl.Series, sought: pl.Series) -> None:
    wanted = sought.cast(pl.Datetime("us", "UTC")) if sought.dtype == pl.Datetime else sought
    # Few keys beside many rows, so that the filter is asked too.
    frame = pl.DataFrame({"k": held.extend(pl.Series([None] * 200, dtype=held.dtype))})
    assert 0 in rows_of(matching(index(frame, "k"), {"k": wanted}))


@pytest.mark.parametrize("seed", range(10))
def test_no_row_with_sought_values_is_left_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.storage.run_index.BLOCK_ROWS", 5)
    monkeypatch.setattr("jobs.storage.run_index._ROWS_PER_KEY", 1 if seed % 2 else 128)
    rng = random.Random(seed)
    frame = pl.DataFrame(
        {
            "k": [rng.choice((None, *range(40))) for _ in range(200)],
            "s": [rng.choice((None, "", "a", "é", *map(str, range(60)))) for _ in range(200)],
        }
    ).sort("k")
    known = index(frame, "k", "s")
    left_out = 0
    for _ in range(50):
        keys, texts = {rng.randrange(60)}, {str(rng.randrange(80)), rng.choice("aé")}
        sought = {"k": pl.Series(sorted(keys)), "s": pl.Series(sorted(texts))}
        found = rows_of(matching(known, sought))
        wanted = frame.with_row_index("row").filter(pl.col("k").is_in(keys) & pl.col("s").is_in(texts))["row"]
        assert set(wanted) <= found
        left_out += frame.height - len(found)
    assert left_out > 50 * 100


def written(root: StateRoot, number: int, frame: pl.DataFrame) -> RunRef:
    run = RunRef("S", 0, f"S/0/{number}.arrow", frame.height, 0, (0,), (0,), 0, 0)
    return root.write(run, frame, describe(frame, ["k"]))


def test_pieces_are_small_and_have_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.storage.run_index.BLOCK_ROWS", 10)
    root = StateRoot(str(tmp_path))
    frames = [
        pl.DataFrame(
            {
                "k": range(first, first + 100),
                "text": [str(i) * (i % 40) for i in range(100)],
                "unread": [0.5] * 100,
                ARRIVAL: range(first, first + 100),
            }
        )
        for first in (0, 50, 1000)
    ]
    frames[2] = frames[2].drop("text")
    runs = [written(root, number, frame) for number, frame in enumerate(frames)]
    columns = ["k", "text", ARRIVAL]
    every = list(pieces(root, runs, columns, {}, 1_000))
    assert len(every) > 10
    index_bytes = RunIndex(100, root.map(runs[0]).table.schema.metadata).bytes
    assert max(piece.bytes for piece in every) <= 1_000
    assert max(piece.beside_bytes for piece in every) <= 500 + index_bytes
    expected = pl.concat([f.select([c for c in columns if c in f.columns]) for f in frames], how="diagonal")
    assert pl.concat([piece.frame for piece in every], how="diagonal").equals(expected)
    some = list(pieces(root, runs, columns, {"k": pl.Series([55, 1007])}, 1_000_000))
    assert [piece.frame["k"].to_list() for piece in some] == [[55, 55, 1007]]
    assert list(pieces(root, runs, columns, {"k": pl.Series([-1])}, 1_000)) == []


def test_a_tuple_larger_than_a_piece_is_a_piece(tmp_path: Path) -> None:
    root = StateRoot(str(tmp_path))
    run = written(root, 0, pl.DataFrame({"k": [1, 2], "text": ["x" * 5_000] * 2, ARRIVAL: [1, 2]}))
    assert [piece.frame.height for piece in pieces(root, [run], ["k", "text"], {}, 100)] == [1, 1]


def test_an_index_stays_open_so_that_a_run_without_the_keys_is_not_even_mapped(tmp_path: Path) -> None:
    root = StateRoot(str(tmp_path))
    run = written(root, 0, pl.DataFrame({"k": range(0, 2_000, 2), ARRIVAL: range(1_000)}))

    def found(key: int, index_bytes: int) -> list[int]:
        sought = {"k": pl.Series([key])}
        return [
            k for piece in pieces(root, [run], ["k"], sought, 1_000, index_bytes) for k in piece.frame["k"]
        ]

    assert found(4, 0) == [4]
    assert root.indexes.bytes == 0
    assert found(4, 10_000) == [4]
    assert 1_000 < root.indexes.bytes <= 10_000
    root.delete([run.path])
    assert found(-1, 10_000) == []
    with pytest.raises(FileNotFoundError):
        found(4, 10_000)


def test_open_indexes_stay_within_their_bytes(tmp_path: Path) -> None:
    root = StateRoot(str(tmp_path))
    frame = pl.DataFrame({"k": range(0, 2_000, 2), ARRIVAL: range(1_000)})
    runs = [written(root, number, frame) for number in range(10)]
    for most in (30_000, 12_000):
        every = list(pieces(root, runs, ["k"], {"k": pl.Series([4])}, 1_000_000, most))
        assert [piece.frame["k"].to_list() for piece in every] == [[4] * 10]
        assert most / 2 < root.indexes.bytes <= most
        assert every[0].beside_bytes <= most + 5_000 + max(run.bytes for run in runs)
    assert [root.indexes.find(run.path) is not None for run in runs] == [False] * 8 + [True] * 2


def test_a_limit_is_shared_out_and_may_not_be_too_small() -> None:
    assert share(None, 4) is None
    assert share(4 * SMALLEST_SHARE_BYTES + 3, 4) == SMALLEST_SHARE_BYTES
    assert share(5 * SMALLEST_SHARE_BYTES, 4, merging=True) == SMALLEST_SHARE_BYTES
    with pytest.raises(InputError, match="at least 1048576"):
        share(4 * SMALLEST_SHARE_BYTES - 1, 4)
    assert size("64MiB") == 64 << 20
