"""Scores over pretraining steps: where two curves cross, and when one reaches a score.

Every step is a checkpoint of its own with seeds of its own, so seeds are drawn anew at each step,
with the small-sample factor of `multi_bootstrap`. Curves are straight between steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.aggregates import checked
from harness.stats.bootstrap import draw_seed_weights, percentile_bounds
from harness.stats.intervals import student_over_normal

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Crossing:
    """A step between bounds, and the share of replicates in which it lies among the steps given.

    `step` is None where the curves do not cross. `low` None: perhaps before the first step; `high`
    None: perhaps after the last.
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

    `a_SK` and `b_SK` have shape (steps, seeds), not necessarily as many seeds; `steps_S` rises. A
    replicate in which the leader of the end leads all the way crossed before the first step; one in
    which the other leads at the end has not crossed by the last.
    """
    steps, a, b = _checked_steps(steps_S), checked(a_SK, 2), checked(b_SK, 2)
    if not steps.size == len(a) == len(b):
        raise ValueError(f"{steps.size} steps for curves of {len(a)} and {len(b)}")
    gap = a.mean(axis=1) - b.mean(axis=1)
    leads = 1.0 if gap[-1] >= 0 else -1.0
    drawn_BS = _draw_curves(a, generator, replicates, confidence) - _draw_curves(
        b, generator, replicates, confidence
    )
    return _summarise(
        _last_rise(steps, leads * gap[None])[0],
        _last_rise(steps, leads * drawn_BS),
        confidence,
    )


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

    A curve that starts at the target or above reached it before the first step.
    """
    steps, scores = _checked_steps(steps_S), checked(scores_SK, 2)
    if steps.size != len(scores):
        raise ValueError(f"{steps.size} steps for a curve of {len(scores)}")
    drawn_BS = _draw_curves(scores, generator, replicates, confidence)
    return _summarise(
        _first_rise(steps, scores.mean(axis=1)[None] - target)[0],
        _first_rise(steps, drawn_BS - target),
        confidence,
    )


def _draw_curves(
    scores_SK: Floats, generator: np.random.Generator, replicates: int, confidence: float
) -> Floats:
    """Draw mean curves, shape (B, S), as far from the curve as Student says for so many seeds."""
    n_steps, n_seeds = scores_SK.shape
    means_S = scores_SK.mean(axis=1)
    drawn = [row @ draw_seed_weights(n_seeds, replicates, generator) for row in scores_SK]
    wide = student_over_normal(n_steps * (n_seeds - 1), confidence)
    return np.asarray(means_S + wide * (np.stack(drawn, axis=1) - means_S))


def _last_rise(steps_S: Floats, gaps_BS: Floats) -> Floats:
    """Give where each row turns positive for good; -inf: was so all along, inf: is not at the end.

    A gap of exactly 0 counts as positive, so touching is not crossing.
    """
    behind = gaps_BS < 0
    last = behind.shape[1] - 1 - np.argmax(behind[:, ::-1], axis=1)
    found = _interpolate(steps_S, gaps_BS, np.minimum(last, behind.shape[1] - 2))
    found = np.where(behind.any(axis=1), found, -np.inf)
    return np.where(behind[:, -1], np.inf, found)


def _first_rise(steps_S: Floats, gaps_BS: Floats) -> Floats:
    """Give where each row first turns from negative; -inf: starts so, inf: never."""
    ahead = gaps_BS >= 0
    first = np.argmax(ahead, axis=1)
    found = _interpolate(steps_S, gaps_BS, np.maximum(first - 1, 0))
    found = np.where(ahead[:, 0], -np.inf, found)
    return np.where(ahead.any(axis=1), found, np.inf)


def _interpolate(steps_S: Floats, gaps_BS: Floats, left_B: NDArray[np.intp]) -> Floats:
    """Give where the line from point `left` to the next meets 0."""
    rows = np.arange(len(gaps_BS))
    before, after = gaps_BS[rows, left_B], gaps_BS[rows, left_B + 1]
    rise = np.where(after == before, 1.0, after - before)
    return np.asarray(steps_S[left_B] - before / rise * (steps_S[left_B + 1] - steps_S[left_B]))


def _summarise(found: float, drawn_B: Floats, confidence: float) -> Crossing:
    bounds = percentile_bounds(found, drawn_B, confidence)
    step = float(found) if np.isfinite(found) else None
    return Crossing(step, bounds.low, bounds.high, float(np.isfinite(drawn_B).mean()))


def _checked_steps(steps_S: ArrayLike) -> Floats:
    steps = np.asarray(steps_S, dtype=np.float64)
    if steps.ndim != 1 or steps.size < 2 or not (np.diff(steps) > 0).all():
        raise ValueError(f"needs two or more rising steps; got {steps!r}")
    return steps
