"""Names as SQL compares them: without regard to case, unless they are quoted."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def matches(name: str, wanted: str, quoted: bool = False) -> bool:
    """True if `wanted`, written with or without quotes, means the declared `name`.

    >>> matches("Origin", "origin"), matches("Origin", "origin", quoted=True)
    (True, False)
    """
    return name == wanted if quoted else name.casefold() == wanted.casefold()


def nearest(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The candidate that `name` is most probably a misspelling of, or None.

    `cutoff` is the least similarity, from 0 to 1.

    >>> nearest("d.orign", ["d.origin", "d.at"])
    'd.origin'
    """
    by_fold = {candidate.casefold(): candidate for candidate in sorted(candidates, reverse=True)}
    found = get_close_matches(name.casefold(), sorted(by_fold), n=1, cutoff=cutoff)
    return by_fold[found[0]] if found else None
