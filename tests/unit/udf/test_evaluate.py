"""NULL, errors and wrong answers of user functions, row by row."""

from __future__ import annotations

import logging
import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.udf.duckdb import register
from optimizer.udf.evaluate import evaluate, failures
from optimizer.udf.library.images import image_distance
from optimizer.udf.library.text import name_similarity, similarity
from optimizer.udf.measure import cost_us
from optimizer.udf.registry import FunctionRegistry, UserFunction
from tests.unit.udf.counting import INVERSE, NEAR, ODD_SUM, SHORT

T = ColumnType


def test_a_row_with_null_is_never_seen_and_has_no_answer() -> None:
    answers = evaluate(NEAR, (pa.array([1, None, 3, None]), pa.array([2, 2, None, None])))
    assert answers.to_pylist() == [True, None, None, None]


def test_no_rows_have_no_answers() -> None:
    nothing = pa.array([], pa.int64())
    assert evaluate(NEAR, (nothing, nothing)).to_pylist() == []
    all_null = pa.nulls(3, pa.int64())
    assert evaluate(NEAR, (all_null, all_null)).to_pylist() == [None, None, None]


def test_only_the_rows_that_raise_are_lost(caplog: pytest.LogCaptureFixture) -> None:
    before = failures["inverse"]
    values = [0.0 if row in (0, 7, 20_000) else float(row) for row in range(20_001)]
    with caplog.at_level(logging.WARNING):
        answers = evaluate(INVERSE, (pa.array(values),)).to_pylist()
    assert [row for row, answer in enumerate(answers) if answer is None] == [0, 7, 20_000]
    assert answers[8] == 1 / 8
    assert failures["inverse"] - before == 3
    assert "ZeroDivisionError" in caplog.text


def test_an_answer_does_not_depend_on_its_batch() -> None:
    chance = random.Random(1)
    values = [float(chance.randrange(4)) for _ in range(500)]
    whole = evaluate(INVERSE, (pa.array(values),)).to_pylist()
    parts = [evaluate(INVERSE, (pa.array(values[i : i + 7]),)).to_pylist() for i in range(0, 500, 7)]
    assert whole == [answer for part in parts for answer in part]


def test_too_few_answers_are_an_error_of_the_function() -> None:
    before = failures["short"]
    # Called with single rows in the end, it answers.
    assert evaluate(SHORT, (pa.array([1, 2, 3]),)).to_pylist() == [1, 2, 3]
    assert failures["short"] == before


def test_duckdb_calls_the_same_functions() -> None:
    with duckdb.connect() as connection:
        register(connection, FunctionRegistry((INVERSE, NEAR)))
        rows = connection.sql(
            "SELECT inverse(x), near(1, x::BIGINT) FROM (VALUES (0.0), (4), (NULL)) AS t(x)"
        )
        assert rows.fetchall() == [(None, True), (0.25, False), (None, None)]


def test_the_shipped_similarity_commutes() -> None:
    chance = random.Random(2)
    texts = ["".join(chance.choices("abcä ", k=chance.randrange(9))) for _ in range(2_000)]
    left, right = pa.array(texts[:1_000]), pa.array(texts[1_000:])
    assert np.array_equal(similarity(left, right), similarity(right, left))
    assert ((name_similarity(left, right) >= 0) & (name_similarity(left, right) <= 1)).all()


def test_images_of_different_sizes_have_no_distance() -> None:
    images = [b"\x00" * 4, b"\xff" * 4, b"ab", b"", b"\x00\x00\xff\xff"]
    against = [b"\xff" * 4, b"\xff" * 4, b"abc", b"", b"\x00" * 4]
    found = image_distance(pa.array(images, pa.large_binary()), pa.array(against, pa.large_binary()))
    assert found.to_pylist() == [1.0, 0.0, None, None, 0.5]


def test_a_cost_is_measured_where_it_is_left_open() -> None:
    path = "optimizer.udf.library.text:similarity"
    open_cost = UserFunction("similarity", path, (T.STRING, T.STRING), T.DOUBLE, None)
    assert cost_us(NEAR) == 50.0
    assert 0 < cost_us(open_cost) < 1_000
    assert cost_us(open_cost) == cost_us(open_cost)


def test_a_function_that_raises_cannot_be_measured() -> None:
    of_text = UserFunction("odd", ODD_SUM.path, (T.STRING, T.STRING), T.BOOLEAN, None)
    with pytest.raises(InputError, match=r"odd raised TypeError.*expected cost_us in microseconds"):
        cost_us(of_text)
