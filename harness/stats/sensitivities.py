"""How much the score of a checkpoint on a task depends on the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from harness.stats.bootstrap import draw_seed_weights
from harness.stats.intervals import Bounds, student_over_normal

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitivity:
    """Columns of one checkpoint and task; None with fewer than two rates that have a score.

    `range` and `deviation` (divisor rates - 1) are those of the mean scores across rates. `area` is
    the area under the mean score over log rate, per unit of log rate: the mean score of a rate
    picked blindly between the smallest and the largest. Rates without a score are left out.
    """

    range: float | None
    deviation: float | None
    area: float | None


def sensitivity(means_P: ArrayLike, rates_P: ArrayLike) -> Sensitivity:
    """Sum up mean scores at rates, both of shape (points,), NaN where a rate has no score."""
    means, rates = np.asarray(means_P, dtype=np.float64), np.asarray(rates_P, dtype=np.float64)
    if means.ndim != 1 or means.shape != rates.shape or (rates <= 0).any():
        raise ValueError(f"means {means.shape} need as many positive rates, not {rates.shape}")
    present = np.isfinite(means)
    if np.unique(rates[present]).size < 2:
        return Sensitivity(None, None, None)
    columns = _columns(rates[present])
    return Sensitivity(**{name: float(column(means[present])) for name, column in columns.items()})


def sensitivity_bounds(
    scores_PK: ArrayLike,
    rates_P: ArrayLike,
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
) -> dict[str, Bounds]:
    """Give every column of `Sensitivity` with bounds over other seeds; {} where there is none.

    `scores_PK` has shape (points, seeds), NaN where a run has no score. Noise always adds to a
    range, so percentiles of a bootstrap would lie too high, and hardly ever cover a range of 0. But
    a range (and a deviation, and an area) of a sum is at most the sum of ranges, so that of the
    means is off by at most the range of their errors. The bounds go as far as the bootstrap says
    that errors go: they cover at least as often as they say, and more often where rates differ.
    Open where a rate has one seed only.
    """
    found = _resampled(scores_PK, rates_P, generator, replicates, confidence)
    return {
        name: _around(value, errors, confidence, floor=0.0 if name != "area" else -np.inf)
        for name, (value, errors) in found.items()
    }


def compare_sensitivity(
    a_PK: ArrayLike,
    b_PK: ArrayLike,
    rates_P: ArrayLike,
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
) -> dict[str, Bounds]:
    """Give a minus b of every column, with bounds over seeds of both; {} where one has none.

    As `sensitivity_bounds`, with both sides' errors added in quadrature.
    """
    a, b = (_resampled(side, rates_P, generator, replicates, confidence) for side in (a_PK, b_PK))
    compared = {}
    for name in a.keys() & b.keys():
        (value_a, errors_a), (value_b, errors_b) = a[name], b[name]
        both = None if errors_a is None or errors_b is None else np.hypot(errors_a, errors_b)
        compared[name] = _around(value_a - value_b, both, confidence, floor=-np.inf)
    return {field.name: compared[field.name] for field in fields(Sensitivity) if compared}


@dataclass(frozen=True)
class Regret:
    """The best rate for all tasks, and what each task (T,) loses by it against its own best."""

    rate: float
    regret_T: Floats

    @property
    def mean(self) -> float:
        """Mean loss over tasks."""
        return float(self.regret_T.mean())


def regret_of_common_rate(means_TP: ArrayLike, rates_P: ArrayLike) -> Regret | None:
    """Find the one rate with the largest mean over tasks, from scores (tasks, rates), NaN absent.

    Only rates at which every task has a score may win; None where there is no such rate. Ties go to
    the smaller rate. The loss of a task is against the largest of all its means.
    """
    means, rates = np.asarray(means_TP, dtype=np.float64), np.asarray(rates_P, dtype=np.float64)
    if means.ndim != 2 or not means.size or rates.shape != means.shape[1:]:
        raise ValueError(f"means {means.shape} do not fit rates {rates.shape}")
    complete = np.flatnonzero(np.isfinite(means).all(axis=0))
    if not complete.size:
        return None
    order = complete[np.argsort(rates[complete], kind="stable")]
    common = order[np.argmax(means[:, order].mean(axis=0).round(12))]
    return Regret(float(rates[common]), np.nanmax(means, axis=1) - means[:, common])


def compare_regret(
    a_TPK: Sequence[ArrayLike],
    b_TPK: Sequence[ArrayLike],
    rates_P: ArrayLike,
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
) -> Bounds | None:
    """Give a minus b of the mean regret over tasks, with bounds over seeds of both.

    Of each side scores (points, seeds) of every task; rates that are not to take part are NaN. Mean
    regret is the mean of the largest means less the largest of the mean means. Noise adds to it as
    to a range, and by no more than the largest errors can: so the bounds are made as those of
    `sensitivity_bounds`, and cover at least as often as they say. None where a side has no rate
    with all tasks; open where a rate has one seed only.
    """
    sides = [
        _resampled_regret(side, rates_P, generator, replicates, confidence)
        for side in (a_TPK, b_TPK)
    ]
    if sides[0] is None or sides[1] is None:
        return None
    (value_a, errors_a), (value_b, errors_b) = sides[0], sides[1]
    both = None if errors_a is None or errors_b is None else np.hypot(errors_a, errors_b)
    return _around(value_a - value_b, both, confidence, floor=-np.inf)


def compare_shares(
    flagged_a: int, n_a: int, flagged_b: int, n_b: int, *, confidence: float = 0.95
) -> Bounds:
    """Give a minus b of two shares of independent runs, flagged of n.

    Newcombe's score interval ("Interval estimation for the difference between independent
    proportions", Statistics in Medicine 17, 1998, method 10). Runs of several rates, whose own
    shares differ, spread less than runs of one share do: it then covers more often than it says.
    """
    # Here, since loading it takes longer than reading a study.
    from scipy.stats import binomtest

    ends = [
        binomtest(flagged, n).proportion_ci(confidence, method="wilson")
        for flagged, n in ((flagged_a, n_a), (flagged_b, n_b))
    ]
    (low_a, high_a), (low_b, high_b) = ends
    a, b = flagged_a / n_a, flagged_b / n_b
    return Bounds(
        a - b,
        a - b - math.hypot(a - low_a, high_b - b),
        a - b + math.hypot(high_a - a, b - low_b),
    )


def expected_best(
    validation_n: ArrayLike, budgets: ArrayLike, reported_n: ArrayLike | None = None
) -> Floats:
    """Give the expected score of the best of m runs, for every m in `budgets`; NaN for m > n.

    The best (largest, of equals the earlier one) by `validation_n`, shape (n,), of m different runs
    out of n at random, and what it has in `reported_n`, by default its validation score. Idea:
    Dodge et al., "Show Your Work", EMNLP 2019; theirs draws with replacement and is biased. This is
    the unbiased one of Tang et al., "Showing Your Work Doesn't Always Work", ACL 2020: the i-th
    smallest is the best of m with probability C(i - 1, m - 1) / C(n, m).
    """
    validation = np.asarray(validation_n, dtype=np.float64)
    reported = validation if reported_n is None else np.asarray(reported_n, dtype=np.float64)
    if validation.ndim != 1 or not np.isfinite([validation, reported]).all():
        raise ValueError("needs rows of finite scores, as many reported as validation ones")
    n = validation.size
    # Of equals the earlier one last, where it is the best of those drawn.
    values = reported[np.lexsort((-np.arange(n), validation))]
    best = []
    for m in np.asarray(budgets, dtype=np.int64).ravel().tolist():
        if m < 1:
            raise ValueError(f"a budget is at least one run, not {m}")
        ranks = np.arange(m, n + 1)
        weights = np.exp(_log_choose(ranks - 1, m - 1) - _log_choose(np.array(n), m))
        best.append(float(weights @ values[m - 1 :]) if m <= n else np.nan)
    return np.array(best)


def share(flags: ArrayLike, planned: int) -> float | None:
    """Give the share of planned runs with a flag, as diverged or collapsed; None for no plan."""
    return int(np.asarray(flags, dtype=bool).sum()) / planned if planned else None


def _columns(rates_P: Floats) -> dict[str, Callable[[Floats], Floats]]:
    """Give each column as a function of means (..., P): all are seminorms but for a sign."""
    order = np.argsort(rates_P, kind="stable")
    logs = np.log10(rates_P[order])

    def area(means: Floats) -> Floats:
        return np.asarray(np.trapezoid(means[..., order], logs, axis=-1) / np.ptp(logs))

    return {
        "range": lambda means: np.asarray(np.ptp(means, axis=-1)),
        "deviation": lambda means: np.asarray(means.std(axis=-1, ddof=1)),
        "area": area,
    }


def _resampled(
    scores_PK: ArrayLike,
    rates_P: ArrayLike,
    generator: np.random.Generator,
    replicates: int,
    confidence: float,
) -> dict[str, tuple[float, Floats | None]]:
    """Give each column's value and its errors (B,) by a bootstrap of the seeds at every rate."""
    scores, rates = np.asarray(scores_PK, dtype=np.float64), np.asarray(rates_P, dtype=np.float64)
    rows = [row[np.isfinite(row)] for row in scores]
    counts = np.array([row.size for row in rows])
    means = np.array([row.mean() if row.size else np.nan for row in rows])
    values = sensitivity(means, rates)
    if values.range is None:
        return {}
    errors_BP = None
    if counts[counts > 0].min() > 1:
        freedom = int((counts[counts > 0] - 1).sum())
        errors = [
            (row - row.mean()) @ draw_seed_weights(row.size, replicates, generator)
            for row in rows
            if row.size
        ]
        errors_BP = student_over_normal(freedom, confidence) * np.stack(errors, axis=-1)
    return {
        name: (getattr(values, name), None if errors_BP is None else np.abs(column(errors_BP)))
        for name, column in _columns(rates[counts > 0]).items()
    }


def _resampled_regret(
    scores_TPK: Sequence[ArrayLike],
    rates_P: ArrayLike,
    generator: np.random.Generator,
    replicates: int,
    confidence: float,
) -> tuple[float, Floats | None] | None:
    """Give the mean regret and how far its errors (B,) can reach."""
    rows = [
        [row[np.isfinite(row)] for row in np.asarray(scores_PK, dtype=np.float64)]
        for scores_PK in scores_TPK
    ]
    means_TP = np.array([[row.mean() if row.size else np.nan for row in task] for task in rows])
    regret = regret_of_common_rate(means_TP, rates_P)
    if regret is None:
        return None
    counts = [row.size for task in rows for row in task if row.size]
    if min(counts) < 2:
        return regret.mean, None
    errors_TPB = np.full((*means_TP.shape, replicates), np.nan)
    for t, p in np.argwhere(np.isfinite(means_TP)):
        row = rows[t][p]
        errors_TPB[t, p] = (row - row.mean()) @ draw_seed_weights(row.size, replicates, generator)
    errors_TPB *= student_over_normal(sum(counts) - len(counts), confidence)
    common_PB = errors_TPB[:, np.isfinite(means_TP).all(axis=0)].mean(axis=0)
    up = np.nanmax(errors_TPB, axis=1).mean(axis=0) - common_PB.min(axis=0)
    down = common_PB.max(axis=0) - np.nanmin(errors_TPB, axis=1).mean(axis=0)
    return regret.mean, np.maximum(up, down)


def _around(value: float, errors_B: Floats | None, confidence: float, floor: float) -> Bounds:
    if errors_B is None:
        return Bounds(value, None, None)
    reach = float(np.quantile(errors_B, confidence))
    return Bounds(value, max(value - reach, floor), value + reach)


def _log_choose(n: NDArray[np.int64], k: int) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
