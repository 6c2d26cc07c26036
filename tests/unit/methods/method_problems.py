"""Problems for the tests of the methods: OPTIMIZER's golden example and random small ones."""

from __future__ import annotations

from hypothesis import strategies as st

from optimizer.search.problem import Attribute, JoinPredicate, JoinQuery, Options, Problem, Relation

QUERIES = {
    "q1": JoinQuery("q1", frozenset("RST"), frozenset({"rs", "st"})),
    "q2": JoinQuery("q2", frozenset("STU"), frozenset({"st", "tu"})),
}


def golden_problem(
    tasks: int = 1, queries: tuple[str, ...] = ("q1", "q2"), st_size: float = 150.0, sizes: bool = False
) -> Problem:
    """q1 = (R, S, T; R.b=S.b, S.c=T.c), q2 = (S, T, U; S.c=T.c, T.d=U.d) of section 7.1.

    Rates are 100 per second and windows 1 s; a join's total output is twice what each start
    contributes, so |S join T| = 150 is a selectivity of 0.0075. `sizes` gives stored tuples as
    the plain join sizes instead of deriving them from windows.
    """
    relations = tuple(Relation(name, name, 100.0, 1.0, tasks) for name in "RSTU")
    predicates = (
        JoinPredicate("rs", frozenset("RS"), 0.005, (Attribute("R", "b"), Attribute("S", "b"))),
        JoinPredicate("st", frozenset("ST"), st_size / 20_000, (Attribute("S", "c"), Attribute("T", "c"))),
        JoinPredicate("tu", frozenset("TU"), 0.005, (Attribute("T", "d"), Attribute("U", "d"))),
    )
    known = {}
    if sizes:
        known = {frozenset(name): 100.0 for name in ("R", "S", "T", "U", "RS", "TU")}
        known[frozenset("ST")] = st_size
    return Problem(relations, predicates, tuple(QUERIES[q] for q in queries), sizes=known)


@st.composite
def small_problems(draw: st.DrawFn, largest: int = 4, most_queries: int = 3) -> Problem:
    """Connected queries, cyclic ones too, with differing windows and some expensive predicates."""
    names = "ABCDE"
    relations = tuple(
        Relation(
            name,
            name,
            float(draw(st.sampled_from([1, 10, 35, 100]))),
            draw(st.sampled_from([0.5, 1.0, 4.0])),
            draw(st.sampled_from([1, 2, 5])),
        )
        for name in names
    )
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    predicates = []
    for a, b in pairs:
        equality = None
        if draw(st.integers(0, 4)):
            left = Attribute(a, draw(st.sampled_from("xy")))
            equality = (left, Attribute(b, draw(st.sampled_from("xy"))))
        selectivity = draw(st.sampled_from([0.001, 0.01, 0.05, 0.3]))
        cost = draw(st.sampled_from([0.0, 0.0, 0.0, 4.0]))
        predicates.append(JoinPredicate(f"{a}{b}", frozenset({a, b}), selectivity, equality, cost))
    queries = []
    for i in range(draw(st.integers(1, most_queries))):
        size = draw(st.integers(2, largest))
        members = draw(st.permutations(names))[:size]
        chosen = set()
        for position in range(1, size):
            other = draw(st.sampled_from(members[:position]))
            chosen.add("".join(sorted((members[position], other))))
        if size > 2 and draw(st.booleans()):
            chosen.add("".join(sorted((members[0], members[-1]))))
        queries.append(JoinQuery(f"q{i}", frozenset(members), frozenset(chosen)))
    return Problem(relations, tuple(predicates), tuple(queries))


@st.composite
def option_sets(draw: st.DrawFn) -> Options:
    """Free, paid and single copies, with and without MIRs and latency."""
    return Options(
        mirs=draw(st.booleans()),
        single_copy=draw(st.booleans()),
        storage_weight=draw(st.sampled_from([0.0, 0.1, 1.0])),
        latency_weight=draw(st.sampled_from([0.0, 7.0])),
        time_limit_s=20.0,
    )
