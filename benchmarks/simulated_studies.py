"""Small studies whose truth is known, one function for each family of intervals.

Each draws one study with K seeds and gives its intervals beside what they should hold. Where the
truth of an aggregate is no closed form, it is symmetry that gives it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from harness import stats

Floats = NDArray[np.float64]
Claim = tuple[str, stats.Interval | stats.Bounds, float]
REPLICATES = 500


def tasks(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """3 and 12 tasks whose levels and spreads differ, symmetric around 0."""
    for n_tasks in (3, 12):
        level = np.linspace(-1, 1, n_tasks)
        scores = level + (1 + level**2) * rng.normal(size=(n_seeds, n_tasks))
        means = [stats.over_seeds(column) for column in scores.T]
        yield f"mean of {n_tasks} tasks", stats.average(means).interval(), 0.0
        for name, aggregate in (
            ("bootstrapped mean", stats.mean_over_tasks),
            ("interquartile mean", stats.interquartile_mean),
            ("median", stats.median_over_tasks),
        ):
            bounds = stats.aggregate_bounds(scores, aggregate, rng, replicates=REPLICATES)
            yield f"{name} of {n_tasks} tasks", bounds, 0.0


def improvement(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """Two checkpoints on 12 tasks, one better by half a standard deviation of its seeds."""
    a, b = rng.normal(0.5, 1, (n_seeds, 12)), rng.normal(0, 1, (n_seeds, 12))
    bounds = stats.improvement_bounds(a, b, rng, replicates=REPLICATES)
    yield "probability of improvement, 12 tasks", bounds, float(ndtr(0.5 / 2**0.5))
    _, low, high = stats.profile_bounds(a, [0.5], rng, replicates=REPLICATES)
    yield "performance profile, 12 tasks", stats.Bounds(0.0, float(low[0]), float(high[0])), 0.5


def ranks(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """Eight checkpoints on 12 tasks whose seeds spread more and less: the first and the fourth."""
    level, spread = np.linspace(-0.7, 0.7, 8), np.linspace(0.5, 1.5, 12)
    scores = level[:, None, None] + spread * rng.normal(size=(8, n_seeds, 12))
    bounds = stats.mean_rank_bounds(list(scores), rng, replicates=REPLICATES)
    for place in (0, 3):
        gaps = np.delete(level, place)[:, None] - level[place]
        truth = 1 + ndtr(gaps / (spread * 2**0.5)).mean(axis=1).sum()
        yield f"mean rank, number {place + 1} of 8 checkpoints", bounds[place], float(truth)


def rates(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """Six rates: a flat response, a gentle and a steep one, in standard deviations of a seed."""
    grid = np.array([1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4])
    shape = np.array([-1, -0.5, -0.1, 0, -0.2, -1.3])
    flat = None
    for name, height in (("flat", 0), ("gentle", 1), ("steep", 20)):
        means = height * shape
        scores = means[:, None] + rng.normal(size=(6, n_seeds))
        truth = stats.sensitivity(means, grid)
        bounds = stats.sensitivity_bounds(scores, grid, rng, replicates=REPLICATES)
        for column in ("range", "deviation", "area"):
            yield f"{column} across rates, {name}", bounds[column], getattr(truth, column)
        if flat is None:
            flat = scores
        else:
            gaps = stats.compare_sensitivity(scores, flat, grid, rng, replicates=REPLICATES)
            yield f"range across rates, {name} minus flat", gaps["range"], truth.range or 0.0


def tuning(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """Regret over six tasks whose best rates are the same or not; shares of collapsed runs."""
    grid = np.array([1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4])
    shape = np.array([-1, -0.5, -0.1, 0, -0.2, -1.3])
    means = {
        "equal rates": np.zeros((6, 6)),
        "one best rate": np.tile(10 * shape, (6, 1)),
        "several best rates": np.stack([np.roll(5 * shape, t) for t in range(6)]),
    }
    for (name_a, a), (name_b, b) in itertools.combinations(means.items(), 2):
        scores = [side[..., None] + rng.normal(size=(6, 6, n_seeds)) for side in (a, b)]
        found = stats.compare_regret(*map(list, scores), grid, rng, replicates=REPLICATES)
        truths = [stats.regret_of_common_rate(side, grid) for side in (a, b)]
        assert found
        assert truths[0]
        assert truths[1]
        yield f"regret, {name_a} minus {name_b}", found, truths[0].mean - truths[1].mean
    risks = {"one share": (np.full(6, 0.2),) * 2, "by rate": (np.linspace(0, 1, 6), np.eye(6)[5])}
    for name, (risk_a, risk_b) in risks.items():
        flagged = [int(rng.binomial(n_seeds, risk).sum()) for risk in (risk_a, risk_b)]
        n_runs = 6 * n_seeds
        gap = float(risk_a.mean() - risk_b.mean())
        bounds = stats.compare_shares(flagged[0], n_runs, flagged[1], n_runs)
        yield f"shares of runs, {name}", bounds, gap


def curves(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """Two curves over pretraining that cross at step 5,000, and one that reaches 0 there."""
    steps = np.arange(1, 11) * 1_000
    slope = (steps - 5_000)[:, None] / 1_000
    a = slope + rng.normal(size=(10, n_seeds))
    b = rng.normal(size=(10, n_seeds))
    found = stats.crossing(steps, a, b, rng, replicates=REPLICATES)
    yield "crossing of two curves", stats.Bounds(0.0, found.low, found.high), 5_000.0
    reached = stats.steps_to_reach(steps, a, 0.0, rng, replicates=REPLICATES)
    yield "steps to reach a score", stats.Bounds(0.0, reached.low, reached.high), 5_000.0


def counts(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """Corpus F1 of 200 sentences with 0 to 6 entities; a skill a run, a difficulty a sentence."""
    gold = rng.integers(0, 7, 200)
    ease = rng.beta(8, 2, 200)
    skill = rng.uniform(0.9, 1.0, (n_seeds, 1))
    hits = rng.binomial(gold, skill * ease)
    spurious = rng.poisson(0.3, (n_seeds, 200))
    per_sentence = np.stack([hits, spurious, gold - hits], axis=-1)
    runs = stats.resample_examples(
        per_sentence, rng, statistic=stats.f1_of_counts, replicates=REPLICATES
    )
    hit = 3 * 0.8 * 0.95
    yield (
        "entity F1, seeds and 200 sentences",
        stats.over_seeds_and_examples(runs).interval(),
        2 * hit / (hit + 0.3 + 3),
    )


def choosing(n_seeds: int, rng: np.random.Generator) -> Iterator[Claim]:
    """Three rates, 200 validation and 200 test examples; all equally good, or the second by far."""
    grid = np.array([1e-5, 1e-4, 1e-3])
    for name, lead in (("equal rates", 0.0), ("a clear winner", 1.0)):
        skill = rng.normal(0, 0.05, (3, n_seeds, 1)) - lead * np.array([1, 0, 1])[:, None, None]
        splits = []
        for _ in range(2):
            difficulty = rng.normal(0, 0.5, 200) + rng.normal(0, 0.5, (3, 1, 200))
            answers = skill + difficulty + rng.normal(0, 0.5, (3, n_seeds, 200))
            rows = answers.reshape(-1, 200)
            splits.append(stats.resample_examples(rows, rng, replicates=REPLICATES))
        yield f"nested, {name}", stats.nested(*splits, grid, rng), 0.0


FAMILIES: tuple[Callable[[int, np.random.Generator], Iterator[Claim]], ...] = (
    tasks,
    improvement,
    ranks,
    rates,
    tuning,
    curves,
    counts,
    choosing,
)
