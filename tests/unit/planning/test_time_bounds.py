"""The closure of difference constraints against what it means: assignments of times."""

from __future__ import annotations

from itertools import permutations, product

from hypothesis import given
from hypothesis import strategies as st

from optimizer.logical.event_time.bounds import Constraint, close

NAMES = ("a", "b", "c", "d", "e")
LARGE = 2**80


def constraints(names: str, least: int, most: int) -> st.SearchStrategy[list[Constraint]]:
    one = st.builds(
        Constraint, st.sampled_from(names), st.sampled_from(names), st.integers(least, most), st.none()
    )
    return st.lists(one, max_size=6)


def holds(said: list[Constraint], times: dict[str, int]) -> bool:
    return all(times[one.newer] - times[one.older] <= one.most_us for one in said)


@given(constraints("abc", -2, 2))
def test_bounds_are_the_largest_differences_there_are(said: list[Constraint]) -> None:
    """A finite difference of three times is at most 4 here, so 0 to 9 holds all that matter."""
    fitting = [
        times
        for values in product(range(10), repeat=3)
        if holds(said, times := dict(zip("abc", values, strict=True)))
    ]
    bounds = close(said)
    assert (bounds is None) == (not fitting)
    if bounds is not None:
        for older, newer in permutations("abc", 2):
            largest = max(times[newer] - times[older] for times in fitting)
            most = bounds.most_us(older, newer)
            assert largest > 4 if most is None else largest == most


@given(constraints("abcde", -LARGE, LARGE))
def test_bounds_are_sums_of_constraints_and_are_reached(said: list[Constraint]) -> None:
    """Also far beyond 64 bits: the times at their bounds from one of them fulfil everything."""
    bounds = close(said)
    if bounds is None:
        return
    for older in NAMES:
        reached = {newer: bounds.most_us(older, newer) for newer in NAMES}
        far = 100 * LARGE
        # What no path leads to is so late that it bounds nothing, and later among themselves by theirs.
        times = {name: most if most is not None else far for name, most in reached.items()}
        kept = [one for one in said if reached[one.older] is not None or reached[one.newer] is not None]
        assert holds(kept, times)
        for newer, most in reached.items():
            path = bounds.path(older, newer)
            if most is None or older == newer:
                assert path == ()
            else:
                assert sum(one.most_us for one in path) == most
                assert all(one in said for one in path)
                ends = [older, *(one.newer for one in path)]
                assert ends == [*(one.older for one in path), newer]


@given(constraints("abcd", -9, 9), st.randoms())
def test_the_order_of_constraints_does_not_matter(said: list[Constraint], chance: object) -> None:
    shuffled = list(said)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = close(said), close(shuffled)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert all(one.most_us(*pair) == other.most_us(*pair) for pair in permutations("abcd", 2))
