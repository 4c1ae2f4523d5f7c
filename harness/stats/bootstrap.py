"""The bootstrap over test examples, and over seeds and examples together, as matrix products.

The examples of a task are drawn once for all of its runs: a replicate is a vector of weights over
the examples, the replicates of all runs are one product of scores and weights. Cells and paired
comparisons are then a matter of picking rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.intervals import Bounds, Estimate, Part, check_confidence, seeds_part

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From weighted sums of counts, shape (..., M), to scores, shape (...)."""

_CHUNK_BYTES = 64 * 2**20
"""Room for the draws of a chunk of replicates, and again for the sums that they give."""


@dataclass(frozen=True)
class Resampled:
    """Scores of runs on the test examples, and on replicates of these examples.

    `scores_R` has shape (runs,), `replicates_RB` (runs, replicates); column b of all runs is the
    same draw of `n_examples` examples. `draw` tells the draws of one call from those of another.
    """

    scores_R: Floats
    replicates_RB: NDArray[np.float32]
    n_examples: int
    draw: object

    def rows(self, indices: Sequence[int] | NDArray[np.intp]) -> Resampled:
        """Pick runs, as the seeds of a cell."""
        picked = np.asarray(indices, dtype=np.intp)
        return Resampled(
            self.scores_R[picked], self.replicates_RB[picked], self.n_examples, self.draw
        )


def resample_examples(
    values: ArrayLike,
    generator: np.random.Generator,
    *,
    statistic: Statistic | None = None,
    replicates: int = 10_000,
) -> Resampled:
    """Draw the examples with replacement, `replicates` times, the same for all runs.

    `values` has shape (runs, examples), scores whose mean is the run's score; or with a
    `statistic` (runs, examples, M), counts whose sums give the score, as true positives, false
    positives and false negatives per sentence. Replicates are kept as float32: their spread, not
    their last digits, is what is used. Source: Efron, "Bootstrap methods: another look at the
    jackknife", Annals of Statistics 7 (1979). ValueError for values that are not finite.
    """
    given = np.asarray(values)
    if given.ndim != (2 if statistic is None else 3) or not given.size:
        raise ValueError(f"shape {given.shape} fits no runs x examples (x counts for a statistic)")
    if not np.isfinite(given).all():
        raise ValueError("examples without a finite value; leave such runs out")
    n_runs, n_examples = given.shape[:2]
    replicates_RB = np.empty((n_runs, replicates), dtype=np.float32)
    scores, rows = _centred_means(given) if statistic is None else _summed_counts(given, statistic)
    # The draws depend on the generator and the number of examples alone, not on the runs beside.
    for drawn in _chunks(replicates, n_examples):
        weights_NB = _draw_weights(n_examples, drawn.stop - drawn.start, generator)
        for block in _chunks(
            n_runs, weights_NB.shape[1] * (1 if statistic is None else given.shape[2])
        ):
            sums = (rows[..., block, :] @ weights_NB).astype(np.float64)
            replicates_RB[block, drawn] = (
                scores[block, None] + sums / n_examples
                if statistic is None
                else statistic(np.moveaxis(sums, 0, -1))
            )
    return Resampled(scores, replicates_RB, n_examples, object())


def over_seeds_and_examples(runs: Resampled) -> Estimate:
    """Give the mean of a cell's K runs with the variance of other seeds *and* other examples.

    Three spreads tell the sources apart, for any statistic: that of the seeds' scores on the
    examples as they are (seed + noise), that of the mean of all seeds over draws of examples
    (example + noise), and that of how differently a draw moves the seeds: the noise, which both
    hold and which counts once. The multi-bootstrap, which draws seeds and examples at once, counts
    it three times (Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007).
    """
    mean = float(runs.scores_R.mean())
    seeds = seeds_part(runs.scores_R, noise_variance(runs))
    examples = examples_part(runs.replicates_RB.mean(axis=0, dtype=np.float64), runs.n_examples)
    if seeds is None or examples is None:
        return Estimate(mean, None, None)
    return Estimate(mean, seeds, examples)


def over_examples(runs: Resampled) -> Estimate:
    """Give the mean of runs with the variance that other examples would bring; seeds as given."""
    means_B = runs.replicates_RB.mean(axis=0, dtype=np.float64)
    return Estimate(float(runs.scores_R.mean()), None, examples_part(means_B, runs.n_examples))


def multi_bootstrap(runs: Resampled, generator: np.random.Generator) -> Floats:
    """Give replicates of a cell's mean, shape (B,), with seeds and examples both drawn anew.

    The part of the seeds carries the factor sqrt(K / (K - 1)), without which K drawn seeds spread
    too little: Sellam et al., "The MultiBERTs", ICLR 2022. Percentiles of these replicates cover
    too little with few seeds; `over_seeds_and_examples` is the interval to print. ValueError for
    one seed.
    """
    n_seeds, replicates = runs.replicates_RB.shape
    weights_KB = draw_seed_weights(n_seeds, replicates, generator)
    means_B: Floats = (runs.replicates_RB * weights_KB).sum(axis=0)
    return means_B


def percentile_bounds(value: float, replicates_B: ArrayLike, confidence: float = 0.95) -> Bounds:
    """Give the percentile interval of replicates, shape (B,); infinite ones make an open end.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.
    """
    check_confidence(confidence)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    # A replicate that occurred, not one between two: nothing lies between a number and infinity.
    low, high = np.quantile(
        np.asarray(replicates_B, dtype=np.float64), tails, method="inverted_cdf"
    )
    return Bounds(
        value, float(low) if np.isfinite(low) else None, float(high) if np.isfinite(high) else None
    )


def draw_seed_weights(n_seeds: int, replicates: int, generator: np.random.Generator) -> Floats:
    """Draw K seeds with replacement, B times: weights of shape (K, B), small-sample factor in them.

    Column sums are 1. ValueError for one seed: there is nothing to draw from.
    """
    if n_seeds < 2:
        raise ValueError("one seed can't be resampled")
    share = 1 / n_seeds
    counts_BK = generator.multinomial(n_seeds, np.full(n_seeds, share), size=replicates)
    weights_KB: Floats = share + np.sqrt(n_seeds / (n_seeds - 1)) * (counts_BK.T * share - share)
    return weights_KB


def examples_part(means_B: Floats, n_examples: int) -> Part | None:
    """Give what the examples add to a variance, from replicates (B,); None for one example."""
    if n_examples == 1:
        return None
    # A bootstrap of N examples spreads by the plain variance, divisor N.
    return Part(float(means_B.var()) * n_examples / (n_examples - 1), n_examples - 1)


def noise_variance(runs: Resampled) -> float:
    """Give what the noise of single answers adds to the variance of the mean of K runs."""
    n_seeds, n_examples = runs.scores_R.size, runs.n_examples
    if n_seeds == 1 or n_examples == 1:
        return 0.0
    moves_KB = runs.replicates_RB.astype(np.float64)
    moves_KB -= moves_KB.mean(axis=1, keepdims=True)
    return float(moves_KB.var(axis=0, ddof=1).mean()) / n_seeds * n_examples / (n_examples - 1)


def f1_of_counts(sums: Floats) -> Floats:
    """F1 of true positives, false positives and false negatives, shape (..., 3); 0 / 0 is 0."""
    hits = 2 * sums[..., 0]
    return _divide(hits, hits + sums[..., 1] + sums[..., 2])


def ratio_of_sums(sums: Floats) -> Floats:
    """Give the numerator over the denominator, shape (..., 2); 0 / 0 is 0."""
    return _divide(sums[..., 0], sums[..., 1])


def mcc_of_counts(sums: Floats) -> Floats:
    """Matthews correlation of TP, FP, FN and TN, shape (..., 4); 0 where it is undefined."""
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    return _divide(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    empty = denominator == 0
    ratio: Floats = np.where(empty, 0.0, numerator / np.where(empty, 1.0, denominator))
    return ratio


def _centred_means(values_RN: NDArray[np.generic]) -> tuple[Floats, NDArray[np.float32]]:
    """Give the means, and what is left in float32: small numbers lose no digits to the mean."""
    values = values_RN.astype(np.float64)
    means: Floats = values.mean(axis=1)
    values -= means[:, None]
    return means, values.astype(np.float32)


def _summed_counts(
    counts_RNM: NDArray[np.generic], statistic: Statistic
) -> tuple[Floats, NDArray[np.float32]]:
    """Give the scores, and the counts with their kinds first, (M, R, N)."""
    scores = statistic(counts_RNM.sum(axis=1, dtype=np.float64))
    return scores, np.ascontiguousarray(np.moveaxis(counts_RNM, -1, 0), dtype=np.float32)


def _chunks(total: int, width: int) -> list[slice]:
    """Cut a range so that a chunk of rows, `width` doubles each, fits the room for one."""
    size = max(1, _CHUNK_BYTES // (8 * width))
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


def _draw_weights(
    n_examples: int, replicates: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """Count how often each example is drawn, shape (N, B)."""
    drawn = generator.integers(n_examples, size=(replicates, n_examples))
    drawn += np.arange(replicates)[:, None] * n_examples
    counts = np.bincount(drawn.ravel(), minlength=replicates * n_examples)
    return counts.astype(np.float32).reshape(replicates, n_examples).T
