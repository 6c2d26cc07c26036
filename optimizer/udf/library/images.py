"""Distance of images that are stored as raw pixels in binary columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def image_distance(first: pa.Array, second: pa.Array) -> pa.Array:
    """Mean absolute difference of two images' bytes, as a fraction.

    0 for equal ones, 1 for black and white.

    Images are the bytes of their pixels, without a header. Those of different sizes, or without a pixel,
    have no distance: NULL.

    >>> image_distance(pa.array([bytes([0, 255]), b"a"]), pa.array([bytes([0, 0]), b""])).to_pylist()
    [0.5, None]
    """
    sizes, others = (np.asarray(pc.binary_length(side), dtype=np.int64) for side in (first, second))
    alike = (sizes == others) & (sizes > 0)
    found = np.zeros(len(sizes), dtype=np.float64)
    for size in np.unique(sizes[alike]):
        rows = np.flatnonzero(alike & (sizes == size))
        left, right = (_pixels(side, rows, int(size)) for side in (first, second))
        # Whole numbers, so that the sum is the same in whatever order it is taken.
        total = np.abs(left.astype(np.int16) - right.astype(np.int16)).sum(axis=1, dtype=np.int64)
        found[rows] = total / (255.0 * size)
    return pa.array(found, mask=~alike)


def _pixels(images: pa.Array, rows: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.uint8]:
    chosen = images if len(rows) == len(images) else images.take(pa.array(rows))
    joined = b"".join(chosen.to_pylist())
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(rows), size)
