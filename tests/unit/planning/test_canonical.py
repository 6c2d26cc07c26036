"""Names that people choose never show in canonical inputs and identities."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import rename_inputs
from optimizer.logical.canonical_inputs import canonical_expression, canonical_names
from optimizer.logical.query import Query
from optimizer.sql import parse_query
from tests.unit.planning.workloads import CATALOG, query_texts


def _canonical(query: Query) -> frozenset[object]:
    (names,) = canonical_names([query])
    inputs = {(names[i.alias], i.stream, i.window) for i in query.inputs}
    predicates = {canonical_expression(rename_inputs(p, names)) for p in query.predicates}
    return frozenset(inputs | predicates)


@settings(max_examples=60, deadline=None)
@given(text=query_texts(streams=("p", "q")), data=st.data())
def test_alias_names_do_not_matter(text: str, data: st.DataObject) -> None:
    query = parse_query(text, "q", CATALOG)
    aliases = [item.alias for item in query.inputs]
    shuffled = data.draw(st.permutations([f"z{n}" for n in range(len(aliases))]))
    for old, new in zip(aliases, shuffled, strict=True):
        text = text.replace(f"{old}.", f"{new}.").replace(f"AS {old}", f"AS {new}")

    assert _canonical(parse_query(text, "q", CATALOG)) == _canonical(query)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_symmetric_triangle_has_one_form(order: tuple[int, ...]) -> None:
    a, b, c = (f"x{n}" for n in order)
    text = (
        f"SELECT {a}.i FROM p AS {a}, p AS {b}, p AS {c} "
        f"WHERE {a}.i = {b}.i AND {b}.i = {c}.i AND {a}.i = {c}.i AND {a}.j < {b}.j"
    )
    reference = text.replace(a, "u").replace(b, "v").replace(c, "w")

    one, other = (_canonical(parse_query(t, "q", CATALOG)) for t in (text, reference))
    assert one == other


def test_a_self_join_takes_the_ordinals_under_which_it_shares() -> None:
    pair = parse_query("SELECT p.i FROM p, q WHERE p.s = q.s", "pair", CATALOG)
    text = "SELECT a.i FROM p AS a, p AS b, q AS q WHERE a.i = b.j AND {}.s = q.s"

    for joined in ("a", "b"):
        names = canonical_names([parse_query(text.format(joined), "self", CATALOG), pair])
        assert names[0][joined] == "p"


def test_mirrored_and_commuted_predicates_are_one() -> None:
    forms = [
        "a.i < b.i AND a.j = b.j AND (a.x > 1 OR b.x > 1)",
        "(b.x > 1 OR a.x > 1) AND b.j = a.j AND b.i > a.i",
    ]
    queries = [parse_query(f"SELECT a.i FROM p AS a, q AS b WHERE {w}", "q", CATALOG) for w in forms]

    assert _canonical(queries[0]) == _canonical(queries[1])


def test_identities_refuse_what_has_no_stable_encoding() -> None:
    @dataclass(frozen=True)
    class Holder:
        value: object

    assert digest("X", Holder((1, "a"))) == digest("X", Holder([1, "a"]))
    assert digest("X", 1) != digest("X", True) != digest("X", 1.0)
    with pytest.raises(TypeError, match="object"):
        digest("X", Holder(object()))
