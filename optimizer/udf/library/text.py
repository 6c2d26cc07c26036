"""Fuzzy similarity of texts, by rapidfuzz."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rapidfuzz.distance import Indel, JaroWinkler
from rapidfuzz.process import cpdist

Doubles = npt.NDArray[np.float64]


def similarity(first: pa.Array, second: pa.Array) -> Doubles:
    """Share of letters that two texts have in common, in order.

    1 for equal texts, 0 for nothing alike.

    Twice the length of the longest common subsequence over both lengths. Two empty texts are equal.

    >>> similarity(pa.array(["Miller", "abc"]), pa.array(["Müller", "xyz"])).round(3).tolist()
    [0.833, 0.0]
    """
    return _pairwise(first, second, Indel.normalized_similarity)


def name_similarity(first: pa.Array, second: pa.Array) -> Doubles:
    """The similarity of Jaro and Winkler, 0 to 1, which weighs texts' beginnings more.

    >>> name_similarity(pa.array(["Martha"]), pa.array(["Marhta"])).round(3).tolist()
    [0.961]
    """
    return _pairwise(first, second, JaroWinkler.normalized_similarity)


def _pairwise(first: pa.Array, second: pa.Array, scorer: Callable[..., float]) -> Doubles:
    found: Doubles = cpdist(
        first.to_pylist(),
        second.to_pylist(),
        scorer=scorer,
        dtype=np.float64,
    )
    return found
