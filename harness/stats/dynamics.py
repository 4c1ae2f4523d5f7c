"""Scores over pretraining steps: where two curves cross, and when one reaches a score.

Every step is a checkpoint of its own with seeds of its own, so seeds are drawn anew at each step.
Curves are straight between steps. Crossings of resampled curves are a poor guide to where curves
cross: each noisy curve reaches a score before the quiet one does. So the bootstrap gives a band
around the gap, as wide as Student says for so many seeds, and the bounds are the steps at which the
band leaves 0: before the one it is surely below, after the other surely above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.aggregates import checked
from harness.stats.bootstrap import draw_seed_weights
from harness.stats.intervals import student_over_normal

Floats = NDArray[np.float64]

_POINTS = 50
"""Points between two steps at which the band is looked at."""


@dataclass(frozen=True)
class Crossing:
    """A step between bounds, and the share of resampled curves with such a step.

    `step` is None where the curves do not cross. `low` None: perhaps before the first step; `high`
    None: perhaps after the last. With one seed a step nothing is known of others: both bounds are
    open and `share` is NaN.
    """

    step: float | None
    low: float | None
    high: float | None
    share: float


def crossing(
    steps_S: ArrayLike,
    a_SK: ArrayLike,
    b_SK: ArrayLike,
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
) -> Crossing:
    """Find the last step at which the mean curves cross: from there one stays ahead.

    `a_SK` and `b_SK` have shape (steps, seeds), not necessarily as many seeds; `steps_S` rises. It
    is asked of the curve that leads at the last step, with the larger mean. `low` is the last step
    at which it is surely behind, `high` the last at which it is not surely ahead.
    """
    steps, a, b = _checked_steps(steps_S), checked(a_SK, 2), checked(b_SK, 2)
    if not steps.size == len(a) == len(b):
        raise ValueError(f"{steps.size} steps for curves of {len(a)} and {len(b)}")
    gap_S = a.mean(axis=1) - b.mean(axis=1)
    leads = 1.0 if gap_S[-1] >= 0 else -1.0
    # From the end backwards, the last crossing is the first fall below 0: a rise of minus the gap.
    backwards_S = -steps[::-1], -leads * gap_S[::-1]
    if min(a.shape[1], b.shape[1]) < 2:
        backwards = _without_bounds(*backwards_S)
    else:
        errors_BS = _draw_errors(a, generator, replicates) - _draw_errors(b, generator, replicates)
        wide = student_over_normal(a.shape[1] + b.shape[1] - 2, confidence)
        backwards = _first_rise(*backwards_S, errors_BS[:, ::-1], wide, confidence)
    step, low, high = (
        None if at is None else -at for at in (backwards.step, backwards.high, backwards.low)
    )
    return Crossing(step, low, high, backwards.share)


def steps_to_reach(
    steps_S: ArrayLike,
    scores_SK: ArrayLike,
    target: float,
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
) -> Crossing:
    """Find the first step at which the mean curve, from scores (steps, seeds), reaches a score.

    It is reached from below: of a loss pass minus the scores and minus the target. `low` is the
    first step at which it may have been, `high` the first at which it surely has been. A curve
    that starts at the target or above reached it before the first step: no step is known.
    """
    steps, scores = _checked_steps(steps_S), checked(scores_SK, 2)
    if steps.size != len(scores):
        raise ValueError(f"{steps.size} steps for a curve of {len(scores)}")
    gap_S = scores.mean(axis=1) - target
    if scores.shape[1] < 2:
        return _without_bounds(steps, gap_S)
    errors_BS = _draw_errors(scores, generator, replicates)
    wide = student_over_normal(scores.shape[1] - 1, confidence)
    return _first_rise(steps, gap_S, errors_BS, wide, confidence)


def _without_bounds(steps_S: Floats, gap_S: Floats) -> Crossing:
    return Crossing(_first_at_zero(steps_S, gap_S), None, None, math.nan)


def _draw_errors(scores_SK: Floats, generator: np.random.Generator, replicates: int) -> Floats:
    """Draw by how much mean curves of other seeds lie off, shape (B, S)."""
    left_SK = scores_SK - scores_SK.mean(axis=1, keepdims=True)
    n_seeds = scores_SK.shape[1]
    drawn = [row @ draw_seed_weights(n_seeds, replicates, generator) for row in left_SK]
    return np.stack(drawn, axis=1)


def _first_rise(
    steps_S: Floats, gap_S: Floats, errors_BS: Floats, wide: float, confidence: float
) -> Crossing:
    """Find where a gap first turns from negative, with the bounds of its band."""
    drawn_BS = gap_S + errors_BS
    share = float(((drawn_BS[:, 0] < 0) & (drawn_BS >= 0).any(axis=1)).mean())
    places = np.linspace(0, steps_S.size - 1, (steps_S.size - 1) * _POINTS + 1)
    left = np.minimum(places.astype(np.intp), steps_S.size - 2)
    right_weight = places - left
    fine_BG = errors_BS[:, left] * (1 - right_weight) + errors_BS[:, left + 1] * right_weight
    steps_G, gap_G = (_between(row_S, left, right_weight) for row_S in (steps_S, gap_S))
    reach_G = wide * np.quantile(np.abs(fine_BG), confidence, axis=0)
    return Crossing(
        _first_at_zero(steps_S, gap_S),
        _first_where(steps_G, gap_G + reach_G >= 0, open_at=0),
        _first_where(steps_G, gap_G - reach_G >= 0, open_at=None),
        share,
    )


def _between(row_S: Floats, left: NDArray[np.intp], right_weight: Floats) -> Floats:
    return row_S[left] * (1 - right_weight) + row_S[left + 1] * right_weight


def _first_where(steps_G: Floats, holds_G: NDArray[np.bool_], open_at: int | None) -> float | None:
    """Give the first step at which a claim holds; None where it never does, or at `open_at`."""
    first = int(np.argmax(holds_G))
    if not holds_G.any() or first == open_at:
        return None
    return float(steps_G[first])


def _first_at_zero(steps_S: Floats, gap_S: Floats) -> float | None:
    """Give where the gap first turns from negative; None where it starts so or never does."""
    first = int(np.argmax(gap_S >= 0))
    if first == 0:
        return None
    before, after = gap_S[first - 1], gap_S[first]
    part = before / (before - after)
    return float(steps_S[first - 1] + part * (steps_S[first] - steps_S[first - 1]))


def _checked_steps(steps_S: ArrayLike) -> Floats:
    steps = np.asarray(steps_S, dtype=np.float64)
    if steps.ndim != 1 or steps.size < 2 or not (np.diff(steps) > 0).all():
        raise ValueError(f"needs two or more rising steps; got {steps!r}")
    return steps
