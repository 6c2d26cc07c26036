"""What is missing and what is too much, of results with floats and of ones that stay undecided."""

from __future__ import annotations

from collections import Counter

import pytest

from backend.oracle.comparison import Expected, Row, Undecided, compare, near_pairs
from backend.oracle.published import Published

NAMES = ("k", "sum")


def differences(required: list[Row], published: list[Row], undecided: Undecided | None = None) -> list[int]:
    rows = Counter(required)
    expected = Expected(rows, rows) if undecided is None else Expected(rows, rows, undecided)
    tail = Published(tuple(dict(zip(NAMES, row, strict=True)) for row in published), whole=True)
    found = compare(NAMES, {7: expected}, {7: len(published)}, {7: tail})
    return [found.missing, found.extra]


@pytest.mark.parametrize(
    ("published", "wrong"),
    [
        (1234.56789012, [0, 0]),
        (1234.56789013, [0, 0]),
        (1234.567891, [0, 0]),
        (1234.5679, [1, 1]),
        (1235.0, [1, 1]),
        (None, [1, 1]),
    ],
)
def test_floats_are_equal_to_nine_digits(published: float | None, wrong: list[int]) -> None:
    assert differences([("a", 1234.56789012)], [("a", published)]) == wrong
    assert differences([("b", 1234.56789012)], [("a", published)]) == [1, 1]


def test_a_near_row_stands_for_one_row() -> None:
    assert differences([("a", 1.0)], [("a", 1.0), ("a", 1.00000000001)]) == [0, 1]
    assert differences([("a", 1.0), ("a", 1.0)], [("a", 1.0), ("a", 1.00000000001)]) == [0, 0]
    assert differences([("a", 1.0), ("a", 1.0)], [("a", 1.00000000001)]) == [1, 0]


def test_the_first_of_several_near_rows_is_taken() -> None:
    rows = Counter[Row]([(1.0,)])
    assert near_pairs(rows, Counter([(1.00000000002,), (1.00000000001,)])) == [((1.0,), (1.00000000002,))]


def test_as_many_rows_are_beyond_comparison_as_are_undecided() -> None:
    undecided = Undecided((0,), Counter({("a",): 1}))
    assert differences([("b", 2)], [("b", 2), ("a", 7)], undecided) == [0, 0]
    assert differences([("b", 2)], [("b", 2)], undecided) == [0, 0]
    assert differences([("b", 2)], [("b", 3), ("a", 7)], undecided) == [1, 1]
    assert differences([("b", 2)], [("b", 2), ("a", 7), ("a", 8)], undecided) == [0, 1]
    # What is certain of the same keys is no less so.
    assert differences([("a", 2)], [("a", 7)], undecided) == [1, 0]
