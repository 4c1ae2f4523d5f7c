"""Intervals around the mean score of a cell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# scipy.special, not scipy.stats: the same quantile for a tenth of the import time.
from scipy.special import stdtrit


@dataclass(frozen=True)
class Interval:
    """A mean with the half width of its interval; None where one score is all there is."""

    mean: float
    half_width: float | None

    @property
    def low(self) -> float | None:
        """Lower end; not clipped to what the metric can reach."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end; not clipped to what the metric can reach."""
        return None if self.half_width is None else self.mean + self.half_width


def student_t(scores: ArrayLike, confidence: float = 0.95) -> Interval:
    """Give the Student t interval of the mean of `scores`, shape (n,), n >= 1.

    The half width is t(n - 1, (1 + confidence) / 2) * s / sqrt(n) with the sample standard
    deviation s (divisor n - 1): Student, "The probable error of a mean", Biometrika 6 (1908). It
    speaks of other seeds only; the test examples are taken as given. One score has no interval.
    Raises ValueError for no score, for one that is not finite, and for a confidence outside (0, 1).
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"needs at least one score, all of them finite; got {values!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is a share between 0 and 1, not {confidence!r}")
    n = values.size
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None)
    quantile = float(stdtrit(n - 1, (1 + confidence) / 2))
    # Equal scores have no spread, whatever rounding left in the mean.
    deviation = float(values.std(ddof=1)) if np.ptp(values) else 0.0
    return Interval(mean, quantile * deviation / math.sqrt(n))
