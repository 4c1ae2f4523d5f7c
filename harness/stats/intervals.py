"""Intervals around the mean score of a cell, and means that know where their variance is from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# scipy.special, not scipy.stats: the same quantile for a tenth of the import time.
from scipy.special import ndtri, stdtrit

_SMALLEST_P = 1e-100
"""Below this a p value is given as 0."""


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


@dataclass(frozen=True)
class Bounds:
    """A value between bounds that need not lie at the same distance; None is an open end."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Part:
    """What one source adds to the variance of a mean, known to some degrees of freedom.

    `overlap` is that share of `variance` which the other part holds as well: the noise of single
    answers reaches both the spread over seeds and the spread over examples.
    """

    variance: float
    freedom: float
    overlap: float = 0.0

    @property
    def net(self) -> float:
        """The variance without the overlap, not below 0."""
        return max(self.variance - self.overlap, 0.0)


@dataclass(frozen=True)
class Estimate:
    """A mean, and what seeds and examples add to its variance.

    A part that was not sampled (the examples of an interval over seeds) is None. Without any part
    there is no interval: one seed says nothing of other seeds.

    The half width is sqrt(t(f_s)^2 v_s + t(f_e)^2 v_e): each part's variance with the Student
    quantile of its own degrees of freedom (Howe, "Approximate confidence limits on the mean of
    X + Y", JASA 69, 1974). With one part it is Student's interval. docs/statistics.md shows by
    simulation why not Satterthwaite's single quantile, nor percentiles of the bootstrap.
    """

    mean: float
    seeds: Part | None
    examples: Part | None

    @property
    def standard_error(self) -> float | None:
        """The standard deviation of the mean; None where there is no interval."""
        parts = self._parts()
        return math.sqrt(sum(part.net for part in parts)) if parts else None

    def interval(self, confidence: float = 0.95) -> Interval:
        """Give the interval of the mean; ValueError for a confidence outside (0, 1)."""
        check_confidence(confidence)
        parts = self._parts()
        if not parts:
            return Interval(self.mean, None)
        return Interval(self.mean, _half_width(parts, (1 - confidence) / 2))

    def p_value(self) -> float | None:
        """Give the two-sided p of "the mean is 0": 1 - the confidence whose interval ends at 0.

        None where there is no interval, and where no part has any variance, as with equal scores of
        all seeds: the t statistic has 0 beneath then, and a p of 0 would claim what was not seen.
        """
        parts = self._parts()
        if not any(part.net for part in parts):
            return None
        distance = abs(self.mean)
        if distance == 0:
            return 1.0
        if _half_width(parts, _SMALLEST_P / 2) <= distance:
            return 0.0
        # Here, since loading it takes longer than reading a study.
        from scipy.optimize import brentq

        log_p = brentq(
            lambda value: _half_width(parts, math.exp(value) / 2) - distance,
            math.log(_SMALLEST_P),
            0.0,
            xtol=1e-10,
        )
        return math.exp(log_p)

    def _parts(self) -> list[Part]:
        return [part for part in (self.seeds, self.examples) if part is not None]


def over_seeds(scores_K: ArrayLike) -> Estimate:
    """Give the mean of `scores_K`, shape (K,), with the variance that other seeds would bring.

    The test examples are taken as given. ValueError for no score or one that is not finite.
    """
    scores = np.asarray(scores_K, dtype=np.float64)
    if scores.ndim != 1 or not scores.size or not np.isfinite(scores).all():
        raise ValueError(f"needs at least one score, all of them finite; got {scores!r}")
    return Estimate(math.fsum(scores) / scores.size, seeds_part(scores), None)


def student_t(scores: ArrayLike, confidence: float = 0.95) -> Interval:
    """Give the Student t interval of the mean of `scores`, shape (n,), n >= 1.

    The half width is t(n - 1, (1 + confidence) / 2) * s / sqrt(n) with the sample standard
    deviation s (divisor n - 1): Student, "The probable error of a mean", Biometrika 6 (1908). It
    speaks of other seeds only; the test examples are taken as given. One score has no interval.
    Raises ValueError for no score, for one that is not finite, and for a confidence outside (0, 1).
    """
    return over_seeds(scores).interval(confidence)


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Average independent estimates, as those of fixed tasks: nobody asks about other tasks.

    The parts of a kind add up, with the degrees of freedom of Satterthwaite, "An approximate
    distribution of estimates of variance components", Biometrics Bulletin 2 (1946). Without an
    interval where one of the estimates has none. ValueError for no estimate.
    """
    if not estimates:
        raise ValueError("needs at least one estimate")
    n = len(estimates)
    return _sum(math.fsum(e.mean for e in estimates) / n, estimates, 1 / n**2)


def subtract(a: Estimate, b: Estimate) -> Estimate:
    """Give a - b of estimates that share neither seeds nor examples (Welch's t for seeds).

    Raises:
        ValueError: one counts the examples and the other does not.
    """
    return _sum(a.mean - b.mean, [a, b], 1.0)


def seeds_part(scores_K: np.ndarray, overlap: float = 0.0) -> Part | None:
    """Give what the seeds add to the variance of the mean of scores, shape (K,); None for K = 1."""
    n = scores_K.size
    if n == 1:
        return None
    # Equal scores have no spread, whatever rounding left in the mean.
    variance = float(scores_K.var(ddof=1)) if np.ptp(scores_K) else 0.0
    return Part(variance / n, n - 1, overlap)


def add_parts(parts: Sequence[Part], scale: float = 1.0) -> Part:
    """Add the variances of independent parts, times `scale`; Satterthwaite's freedom."""
    total = math.fsum(part.variance for part in parts)
    wobble = math.fsum(part.variance**2 / part.freedom for part in parts)
    freedom = total**2 / wobble if wobble else math.fsum(part.freedom for part in parts)
    overlap = math.fsum(part.overlap for part in parts)
    return Part(scale * total, freedom, scale * overlap)


def _sum(mean: float, estimates: Sequence[Estimate], scale: float) -> Estimate:
    if any(e.seeds is None and e.examples is None for e in estimates):
        return Estimate(mean, None, None)
    seeds = [e.seeds for e in estimates if e.seeds is not None]
    examples = [e.examples for e in estimates if e.examples is not None]
    if any(0 < len(parts) < len(estimates) for parts in (seeds, examples)):
        raise ValueError("estimates over seeds can't be added to those over examples")
    return Estimate(
        mean,
        add_parts(seeds, scale) if seeds else None,
        add_parts(examples, scale) if examples else None,
    )


def _half_width(parts: Sequence[Part], tail: float) -> float:
    return math.sqrt(sum(float(stdtrit(p.freedom, tail)) ** 2 * p.net for p in parts if p.net))


def student_over_normal(freedom: float, confidence: float) -> float:
    """Give by how much Student's quantile lies beyond the normal one; > 1, falling to 1."""
    check_confidence(confidence)
    tail = (1 - confidence) / 2
    return float(stdtrit(freedom, tail) / ndtri(tail))


def check_confidence(confidence: float) -> None:
    """Raise ValueError for a confidence outside (0, 1)."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is a share between 0 and 1, not {confidence!r}")
