"""One cell of a table: the point chosen on validation scores, reported on another split."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.intervals import Interval, student_t

TIE = 1e-12
"""Means this close are equal: the order of summing equal counts moves the last digit."""


@dataclass(frozen=True)
class Choice:
    """The row of the chosen point, and whether its rate is the smallest or largest tried."""

    point: int
    at_edge: bool


@dataclass(frozen=True)
class Cell:
    """What a table says of a checkpoint and a task; None is absent, which is not zero.

    Without a choice `n_ok` is the count of the most complete point. There may be a choice without
    an interval: a point was chosen, but some of its runs lack the reported score.
    """

    choice: Choice | None
    interval: Interval | None
    n_ok: int
    n_planned: int


def choose(
    validation_PS: ArrayLike, rates_P: ArrayLike, *, allow_incomplete: bool = False
) -> Choice | None:
    """Choose the point with the largest mean validation score; None where no point may win.

    `validation_PS` has shape (points, seeds), NaN where a run has no score; `rates_P` has shape
    (points,). A point is a learning rate, or one with the other swept numbers. Only points with a
    score for every seed may win, unless `allow_incomplete`, which takes the mean over what there
    is. Ties go to the smaller rate, then to the earlier row.
    """
    scores, rates = _checked(validation_PS, rates_P)
    present = np.isfinite(scores)
    may_win = present.any(axis=1) if allow_incomplete else present.any(axis=1) & present.all(axis=1)
    candidates = np.flatnonzero(may_win)
    if not candidates.size:
        return None
    means = np.array(
        [math.fsum(scores[row][present[row]]) / present[row].sum() for row in candidates]
    )
    tied = candidates[means >= means.max() - TIE]
    point = int(tied[np.argmin(rates[tied])])
    return Choice(point, is_at_edge(float(rates[point]), rates))


def choose_and_report(
    validation_PS: ArrayLike,
    reported_PS: ArrayLike,
    rates_P: ArrayLike,
    *,
    fixed_rate: float | None = None,
    allow_incomplete: bool = False,
    confidence: float = 0.95,
) -> Cell:
    """Choose a point on the validation scores and report its scores on another split.

    Shapes as in `choose`; `reported_PS` has that of `validation_PS` and takes no part in the
    choice. With `fixed_rate` only the points of that rate may win, and none is at an edge. The mean
    is absent where the chosen point lacks a reported score, unless `allow_incomplete`.
    """
    validation, rates = _checked(validation_PS, rates_P)
    reported, _ = _checked(reported_PS, rates_P)
    rows = np.arange(len(rates))
    if fixed_rate is not None:
        rows = np.flatnonzero(np.isclose(rates, fixed_rate, rtol=1e-9, atol=0))
    validation, reported, rates = validation[rows], reported[rows], rates[rows]
    n_planned = validation.shape[1] if len(rows) else 0
    good = np.isfinite(validation) & np.isfinite(reported)
    choice = choose(validation, rates, allow_incomplete=allow_incomplete)
    if choice is None:
        return Cell(None, None, int(good.sum(axis=1).max(initial=0)), n_planned)
    scores = reported[choice.point]
    scores = scores[np.isfinite(scores)]
    named = Choice(int(rows[choice.point]), choice.at_edge)
    if not scores.size or (scores.size < n_planned and not allow_incomplete):
        return Cell(named, None, scores.size, n_planned)
    return Cell(named, student_t(scores, confidence), scores.size, n_planned)


def is_at_edge(rate: float, rates: NDArray[np.float64]) -> bool:
    """Say whether a rate is the smallest or largest of several different ones, shape (points,).

    A better one may then lie outside of the grid. A single rate is no choice, so it has no edge.
    """
    low, high = float(rates.min()), float(rates.max())
    return low < high and rate in (low, high)


def _checked(
    scores_PS: ArrayLike, rates_P: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scores = np.asarray(scores_PS, dtype=np.float64)
    rates = np.asarray(rates_P, dtype=np.float64)
    if scores.ndim != 2 or rates.shape != scores.shape[:1]:
        raise ValueError(f"shapes do not fit: scores {scores.shape}, rates {rates.shape}")
    return scores, rates
