"""Scores of many tasks as one number, by the definitions of `rliable`, with bootstrap intervals.

Tasks are fixed, never sampled: seeds are drawn within each task (stratified bootstrap). Source of
the definitions: Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
Precipice", NeurIPS 2021.

Few seeds spread too little when drawn from themselves, and a normal tail is too thin for them. So
every replicate's distance from the value is widened by sqrt(K / (K - 1)) and by the ratio of the
Student quantile of T (K - 1) degrees of freedom to the normal one; docs/statistics.md has the
coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.bootstrap import percentile_bounds
from harness.stats.intervals import Bounds, student_over_normal

Floats = NDArray[np.float64]
Aggregate = Callable[[Floats], Floats]
"""From scores (..., K, T) of K seeds on T tasks to numbers (...)."""


def mean_over_tasks(scores_KT: Floats) -> Floats:
    """Give the mean over tasks of the means over seeds, (..., K, T) -> (...)."""
    return np.asarray(scores_KT.mean(axis=(-2, -1)))


def median_over_tasks(scores_KT: Floats) -> Floats:
    """Give the median over tasks of the means over seeds, (..., K, T) -> (...)."""
    return np.asarray(np.median(scores_KT.mean(axis=-2), axis=-1))


def interquartile_mean(scores_KT: Floats) -> Floats:
    """Give the mean of all runs without the best and the worst quarter, (..., K, T) -> (...)."""
    runs = scores_KT.reshape(*scores_KT.shape[:-2], -1)
    cut = runs.shape[-1] // 4
    return np.asarray(np.sort(runs, axis=-1)[..., cut : runs.shape[-1] - cut].mean(axis=-1))


def resample_seeds(
    scores_KT: ArrayLike, generator: np.random.Generator, *, replicates: int = 10_000
) -> Floats:
    """Draw K seeds with replacement within each task, shape (B, K, T)."""
    scores = checked(scores_KT, 2)
    n_seeds, n_tasks = scores.shape
    drawn = generator.integers(n_seeds, size=(replicates, n_seeds, n_tasks))
    return scores[drawn, np.arange(n_tasks)]


def aggregate_bounds(
    scores_KT: ArrayLike,
    aggregate: Aggregate,
    generator: np.random.Generator,
    *,
    replicates: int = 10_000,
    confidence: float = 0.95,
) -> Bounds:
    """Give an aggregate of scores (K, T) with its interval over other seeds, the tasks as given."""
    scores = checked(scores_KT, 2)
    n_seeds, n_tasks = scores.shape
    value = float(aggregate(scores))
    drawn_B = aggregate(resample_seeds(scores, generator, replicates=replicates))
    widened = value + widening(n_seeds, n_tasks, confidence) * (drawn_B - value)
    return percentile_bounds(value, widened, confidence)


def performance_profile(scores_KT: ArrayLike, thresholds_H: ArrayLike) -> Floats:
    """Give the share of runs (..., K, T) above each threshold (H,), shape (..., H).

    Larger is better: of a loss pass minus the scores and minus the thresholds.
    """
    scores, thresholds = np.asarray(scores_KT), np.asarray(thresholds_H, dtype=np.float64)
    runs = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    above = [(runs > threshold).mean(axis=-1) for threshold in thresholds]
    return np.stack(above, axis=-1)


def profile_bounds(
    scores_KT: ArrayLike,
    thresholds_H: ArrayLike,
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
) -> tuple[Floats, Floats, Floats]:
    """Give the profile and its pointwise band: profile, low and high, each (H,), within 0 and 1."""
    scores = checked(scores_KT, 2)
    n_seeds, n_tasks = scores.shape
    profile_H = performance_profile(scores, thresholds_H)
    drawn_BH = performance_profile(
        resample_seeds(scores, generator, replicates=replicates), thresholds_H
    )
    widened = profile_H + widening(n_seeds, n_tasks, confidence) * (drawn_BH - profile_H)
    low, high = np.quantile(widened, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return profile_H, np.clip(low, 0, 1), np.clip(high, 0, 1)


def probability_of_improvement(a_KT: ArrayLike, b_KT: ArrayLike) -> float:
    """Give how often a run of a beats one of b on the same task, mean over tasks; ties are halves.

    A larger score beats a smaller one. Shapes (K_a, T) and (K_b, T): Mann-Whitney's U over the
    number of pairs.
    """
    a, b = checked(a_KT, 2), checked(b_KT, 2)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"{a.shape[1]} tasks against {b.shape[1]}")
    return float(_improvement(a, b))


def improvement_bounds(
    a_KT: ArrayLike,
    b_KT: ArrayLike,
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
    draws_rows: bool = False,
) -> Bounds:
    """Give the probability of improvement with its interval over seeds of both sides.

    With `draws_rows` a row is one thing on all tasks, as a checkpoint is, and is drawn whole; else
    seeds are drawn within each task.
    """
    a, b = checked(a_KT, 2), checked(b_KT, 2)
    value = probability_of_improvement(a, b)
    draw = _resample_rows if draws_rows else resample_seeds
    drawn_B = _improvement(
        draw(a, generator, replicates=replicates), draw(b, generator, replicates=replicates)
    )
    n_seeds, n_groups = min(a.shape[0], b.shape[0]), 1 if draws_rows else a.shape[1]
    widened = value + widening(n_seeds, n_groups, confidence) * (drawn_B - value)
    return percentile_bounds(value, np.clip(widened, 0, 1), confidence)


def mean_ranks(scores_CKT: Sequence[ArrayLike]) -> Floats:
    """Give the expected rank of a run of every checkpoint, mean over tasks, shape (C,); 1 is best.

    One shape (K, T) a checkpoint, of numbers of runs that may differ. Draw one run of each
    checkpoint and rank these on a task: the largest score is the best, equal ones share the mean of
    their ranks. The mean over all such draws is 1 + the sum over the others of the probability that
    they are the better one. With one run a checkpoint this is the rank of its score.
    """
    scores = _checked_sides(scores_CKT)
    weights = [np.full((1, len(side)), 1 / len(side)) for side in scores]
    n_tasks = scores[0].shape[1]
    ranks = [_ranks([side[:, t] for side in scores], weights) for t in range(n_tasks)]
    return np.asarray(np.mean(ranks, axis=0)[0])


def mean_rank_bounds(
    scores_CKT: Sequence[ArrayLike],
    generator: np.random.Generator,
    *,
    replicates: int = 2_000,
    confidence: float = 0.95,
) -> list[Bounds]:
    """Give the mean rank of every checkpoint with its interval over seeds of all of them.

    Not of the rank of the mean score: that jumps where two means cross, so that no bootstrap knows
    how far it can be off (docs/statistics.md). ValueError for a checkpoint of one seed.
    """
    scores = _checked_sides(scores_CKT)
    n_tasks, counts = scores[0].shape[1], [len(side) for side in scores]
    wide = widening(min(counts), n_tasks, confidence)
    values_C = mean_ranks(scores)
    drawn_BC = np.zeros((replicates, len(scores)))
    for task in range(n_tasks):
        weights = [
            generator.multinomial(count, np.full(count, 1 / count), size=replicates) / count
            for count in counts
        ]
        drawn_BC += _ranks([side[:, task] for side in scores], weights) / n_tasks
    widened_BC = np.clip(values_C + wide * (drawn_BC - values_C), 1, len(scores))
    return [
        percentile_bounds(float(value), replicates_B, confidence)
        for value, replicates_B in zip(values_C, widened_BC.T, strict=True)
    ]


def widening(n_seeds: int, n_groups: int, confidence: float) -> float:
    """Give the factor on distances of replicates that draw K seeds in each of several groups.

    ValueError for one seed: there is nothing to draw from.
    """
    if n_seeds < 2:
        raise ValueError("one seed can't be resampled")
    student = student_over_normal(n_groups * (n_seeds - 1), confidence)
    return student * math.sqrt(n_seeds / (n_seeds - 1))


def checked(scores: ArrayLike, dimensions: int) -> Floats:
    """Give finite scores of so many dimensions as doubles; ValueError for others."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != dimensions or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"needs finite scores of {dimensions} dimensions; got shape {values.shape}"
        )
    return values


def _resample_rows(scores_KT: Floats, generator: np.random.Generator, *, replicates: int) -> Floats:
    """Draw K whole rows with replacement, shape (B, K, T)."""
    return scores_KT[generator.integers(len(scores_KT), size=(replicates, len(scores_KT)))]


def _improvement(a_KT: Floats, b_KT: Floats) -> Floats:
    mine, other = a_KT[..., :, None, :], b_KT[..., None, :, :]
    wins = (mine > other).mean(axis=(-3, -2)) + 0.5 * (mine == other).mean(axis=(-3, -2))
    return np.asarray(wins.mean(axis=-1))


def _checked_sides(scores_CKT: Sequence[ArrayLike]) -> list[Floats]:
    scores = [checked(side, 2) for side in scores_CKT]
    if len({side.shape[1] for side in scores}) != 1:
        raise ValueError("needs checkpoints of the same tasks")
    return scores


def _ranks(scores: Sequence[Floats], weights: Sequence[Floats]) -> Floats:
    """Give ranks (B, C) on one task of scores (K,) a checkpoint, weighted by (B, K) of sum 1.

    A product of matrices: of pairs of runs there are many, of draws even more.
    """
    runs, owner = np.concatenate(scores), np.repeat(np.arange(len(scores)), [*map(len, scores)])
    other, mine = runs[:, None], runs[None, :]
    beats_NN = (other > mine) + 0.5 * (other == mine)
    beats_NN[owner[:, None] == owner[None, :]] = 0
    weights_BN = np.concatenate(weights, axis=1)
    beaten_BN = weights_BN * (weights_BN @ beats_NN)
    return np.asarray(1 + beaten_BN @ (owner[:, None] == np.arange(len(scores))))
