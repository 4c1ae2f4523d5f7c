"""One cell of a table: the point chosen on validation scores, reported on another split."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.bootstrap import Resampled, draw_seed_weights, over_seeds_and_examples
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
    validation_PS: ArrayLike,
    rates_P: ArrayLike,
    *,
    allow_incomplete: bool = False,
    planned_PS: ArrayLike | None = None,
) -> Choice | None:
    """Choose the point with the largest mean validation score; None where no point may win.

    `validation_PS` has shape (points, seeds), NaN where a run has no score; `rates_P` has shape
    (points,). A point is a learning rate, or one with the other swept numbers. Only points with a
    score for every seed that is planned there (`planned_PS`, by default all) may win, unless
    `allow_incomplete`, which takes the mean over what there is. Ties go to the smaller rate, then
    to the earlier row.
    """
    scores, rates = _checked(validation_PS, rates_P)
    present = np.isfinite(scores)
    may_win = present.any(axis=1)
    if not allow_incomplete:
        may_win &= _is_complete(scores, _planned(planned_PS, scores))
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
    planned_PS: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Cell:
    """Choose a point on the validation scores and report its scores on another split.

    As `choose`; `reported_PS` has the shape of `validation_PS` and takes no part in the choice.
    With `fixed_rate` only the points of that rate may win, and none is at an edge. The mean is
    absent where the chosen point lacks a reported score, unless `allow_incomplete`.
    """
    validation, rates = _checked(validation_PS, rates_P)
    reported, _ = _checked(reported_PS, rates_P)
    planned = _planned(planned_PS, validation)
    rows = np.arange(len(rates))
    if fixed_rate is not None:
        rows = np.flatnonzero(np.isclose(rates, fixed_rate, rtol=1e-9, atol=0))
    if not len(rows):
        return Cell(None, None, 0, 0)
    validation, reported, rates = validation[rows], reported[rows], rates[rows]
    planned = planned[rows]
    good = (np.isfinite(validation) & np.isfinite(reported)).sum(axis=1)
    choice = choose(validation, rates, allow_incomplete=allow_incomplete, planned_PS=planned)
    if choice is None:
        most = int(good.argmax())
        return Cell(None, None, int(good[most]), int(planned[most].sum()))
    n_planned = int(planned[choice.point].sum())
    scores = reported[choice.point]
    scores = scores[np.isfinite(scores)]
    named = Choice(int(rows[choice.point]), choice.at_edge)
    if not scores.size or (scores.size < n_planned and not allow_incomplete):
        return Cell(named, None, scores.size, n_planned)
    return Cell(named, student_t(scores, confidence), scores.size, n_planned)


def choose_per_seed(
    validation_PK: ArrayLike,
    rates_P: ArrayLike,
    *,
    allow_incomplete: bool = False,
    planned_PS: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Choose the point of the largest score for every seed apart, shape (seeds,); -1 for none.

    Shapes, ties and the points that may win are those of `choose`, so that all seeds choose among
    the same ones; a seed that is not planned at all of these has none. With `allow_incomplete` each
    seed chooses among the scores that it has.
    """
    given, rates = _checked(validation_PK, rates_P)
    scores = given.copy()
    if not allow_incomplete:
        planned = _planned(planned_PS, scores)
        may_win = _is_complete(scores, planned)
        scores[~may_win] = np.nan
        scores[:, ~planned[may_win].all(axis=0)] = np.nan
    chosen = [choose(column[:, None], rates) for column in scores.T]
    return np.array([-1 if choice is None else choice.point for choice in chosen], dtype=np.intp)


def report_per_seed(
    validation_PK: ArrayLike,
    reported_PK: ArrayLike,
    rates_P: ArrayLike,
    *,
    allow_incomplete: bool = False,
    planned_PS: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Cell:
    """Choose a point for every seed on its validation score and report these runs' other scores.

    Shapes and points that may win are those of `choose_and_report`. There is no one choice, so the
    cell has none. The mean is that of somebody who tunes with a single seed; it is absent where no
    point may win or a seed lacks a reported score, unless `allow_incomplete`.
    """
    validation, _ = _checked(validation_PK, rates_P)
    reported, _ = _checked(reported_PK, rates_P)
    planned = _planned(planned_PS, validation)
    chosen = choose_per_seed(
        validation, rates_P, allow_incomplete=allow_incomplete, planned_PS=planned
    )
    seeds = np.flatnonzero(chosen >= 0)
    if not seeds.size:
        good = (np.isfinite(validation) & np.isfinite(reported)).sum(axis=1)
        most = int(good.argmax())
        return Cell(None, None, int(good[most]), int(planned[most].sum()))
    scores = reported[chosen[seeds], seeds]
    scores = scores[np.isfinite(scores)]
    n_planned = chosen.size if allow_incomplete else seeds.size
    if not scores.size or (scores.size < n_planned and not allow_incomplete):
        return Cell(None, None, scores.size, n_planned)
    return Cell(None, student_t(scores, confidence), scores.size, n_planned)


def nested(
    validation: Resampled,
    reported: Resampled,
    rates_P: ArrayLike,
    generator: np.random.Generator,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Give the interval of the chosen point's mean, with the price of choosing in it.

    Rows of both are runs in the order of points, then seeds (row p * K + k), all of them with a
    score. In every replicate the validation examples, the test examples and the seeds (the same for
    all points) are drawn anew, the point with the largest validation mean is chosen again and its
    test score is taken.
    The half width is that over seeds and examples of the chosen point, times how much wider the
    replicates spread than without choosing again, at least 1.

    Raises:
        ValueError: the rows do not fit the rates, or there is one seed.
    """
    rates = np.asarray(rates_P, dtype=np.float64)
    n_runs, replicates = reported.replicates_RB.shape
    if validation.replicates_RB.shape != reported.replicates_RB.shape or n_runs % rates.size:
        raise ValueError(f"{n_runs} runs do not fit {rates.size} points, or validation differs")
    n_seeds = n_runs // rates.size
    chosen = choose(validation.scores_R.reshape(rates.size, n_seeds), rates)
    assert chosen is not None, "all scores are finite"
    weights_KB = draw_seed_weights(n_seeds, replicates, generator)

    def means_PB(runs: Resampled) -> NDArray[np.float64]:
        by_point = runs.replicates_RB.reshape(rates.size, n_seeds, replicates)
        return np.asarray((by_point * weights_KB).sum(axis=1))

    # Smaller rates first, since the first of equal ones is taken.
    order = np.argsort(rates, kind="stable")
    again_B = order[np.argmax(means_PB(validation)[order].round(12), axis=0)]
    on_test_PB = means_PB(reported)
    rechosen_B = on_test_PB[again_B, np.arange(replicates)]
    kept = on_test_PB[chosen.point].std()
    wider = max(1.0, float(rechosen_B.std() / kept)) if kept else 1.0
    cell = reported.rows(range(chosen.point * n_seeds, (chosen.point + 1) * n_seeds))
    plain = over_seeds_and_examples(cell).interval(confidence)
    return Interval(plain.mean, None if plain.half_width is None else wider * plain.half_width)


def is_at_edge(rate: float, rates: NDArray[np.float64]) -> bool:
    """Say whether a rate is the smallest or largest of several different ones, shape (points,).

    A better one may then lie outside of the grid. A single rate is no choice, so it has no edge.
    """
    low, high = float(rates.min()), float(rates.max())
    return low < high and rate in (low, high)


def _is_complete(
    scores_PS: NDArray[np.float64], planned_PS: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Say which points have a score for every seed that is planned there, shape (points,)."""
    return np.asarray((np.isfinite(scores_PS) | ~planned_PS).all(axis=1))


def _planned(planned_PS: ArrayLike | None, scores_PS: NDArray[np.float64]) -> NDArray[np.bool_]:
    if planned_PS is None:
        return np.ones(scores_PS.shape, dtype=np.bool_)
    planned = np.asarray(planned_PS, dtype=np.bool_)
    if planned.shape != scores_PS.shape:
        raise ValueError(f"shapes do not fit: scores {scores_PS.shape}, plan {planned.shape}")
    return planned


def _checked(
    scores_PS: ArrayLike, rates_P: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scores = np.asarray(scores_PS, dtype=np.float64)
    rates = np.asarray(rates_P, dtype=np.float64)
    if scores.ndim != 2 or rates.shape != scores.shape[:1]:
        raise ValueError(f"shapes do not fit: scores {scores.shape}, rates {rates.shape}")
    return scores, rates
