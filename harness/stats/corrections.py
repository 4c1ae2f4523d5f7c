"""p values of many comparisons, corrected for there being many.

NaN stands for a comparison that was not made: it stays NaN and does not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct for the family-wise error rate; same shape as `p_values`.

    Smallest first, times the number of those not yet rejected, never falling: Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    p, order, corrected = _sorted_family(p_values)
    steps = p * np.arange(p.size, 0, -1)
    corrected.flat[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return corrected


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct for the false discovery rate; same shape as `p_values`.

    Source: Benjamini and Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995).
    """
    p, order, corrected = _sorted_family(p_values)
    steps = p * p.size / np.arange(1, p.size + 1)
    corrected.flat[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1)
    return corrected


def _sorted_family(
    p_values: ArrayLike,
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Give the family in rising order, where its members stand, and an array of NaN to fill."""
    given = np.asarray(p_values, dtype=np.float64)
    if ((given < 0) | (given > 1)).any():
        raise ValueError(f"p values lie between 0 and 1; got {given!r}")
    flat = given.ravel()
    members = np.flatnonzero(~np.isnan(flat))
    order = members[np.argsort(flat[members], kind="stable")]
    return flat[order], order, np.full(given.shape, np.nan)
