"""Is one checkpoint better than another on a task, and which ones can't be told apart?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.stats.bootstrap import (
    Resampled,
    examples_part,
    noise_variance,
    over_seeds_and_examples,
)
from harness.stats.intervals import Estimate, add_parts, seeds_part

_EXACT_FLIPS = 12
"""Up to this many examples all signs are tried: 4,096 of them."""

_CHUNK = 2**22
"""Signs held at once."""


def compare_runs(a: Resampled, b: Resampled, *, pairs_seeds: bool = False) -> Estimate:
    """Give the mean of a's runs minus that of b's, over other seeds and other examples.

    Both are rows of one `resample_examples` call: the examples are paired, a draw moves both. Seeds
    vary on each side apart, or with `pairs_seeds` in pairs (row k of a with row k of b), which
    helps only where a seed means the same to both. Parts as in `over_seeds_and_examples`; the seeds
    of two sides add up as in Welch's t. No interval where a side has one run.

    Raises:
        ValueError: the sides were not drawn together, or can't be paired.
    """
    if a.draw is not b.draw:
        raise ValueError("the runs were not resampled together; draw the examples once for both")
    if pairs_seeds:
        return over_seeds_and_examples(_paired(a, b))
    mean = float(a.scores_R.mean() - b.scores_R.mean())
    moves_B = a.replicates_RB.mean(axis=0, dtype=np.float64)
    moves_B -= b.replicates_RB.mean(axis=0, dtype=np.float64)
    examples = examples_part(moves_B, a.n_examples)
    seeds = [
        part
        for side in (a, b)
        if (part := seeds_part(side.scores_R, noise_variance(side))) is not None
    ]
    if examples is None or len(seeds) < 2:
        return Estimate(mean, None, None)
    return Estimate(mean, add_parts(seeds), examples)


@dataclass(frozen=True)
class McNemar:
    """How many examples only one of two runs got right, and the two-sided p."""

    only_a: int
    only_b: int
    p_value: float


def mcnemar(correct_a_N: ArrayLike, correct_b_N: ArrayLike) -> McNemar:
    """Test one run against one on the same examples, each right or wrong, shapes (N,).

    Exact: the examples that only one got right are coin tosses if both are as good. It says nothing
    of other seeds. Source: McNemar, "Note on the sampling error of the difference between
    correlated proportions", Psychometrika 12 (1947).
    """
    a, b = (np.asarray(side, dtype=bool) for side in (correct_a_N, correct_b_N))
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"needs the same examples on both sides; got {a.shape} and {b.shape}")
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    if only_a + only_b == 0:
        return McNemar(0, 0, 1.0)
    # Here, since loading it takes longer than reading a study.
    from scipy.stats import binomtest

    return McNemar(only_a, only_b, float(binomtest(only_a, only_a + only_b).pvalue))


def sign_flip(
    differences_N: ArrayLike, generator: np.random.Generator, *, replicates: int = 10_000
) -> float:
    """Give the two-sided p of "the differences lie around 0", by flipping their signs at random.

    `differences_N`, shape (N,), are a minus b per example, each averaged over seeds; the seeds are
    taken as given. All signs are tried where there are few examples, else `replicates` of them, and
    what was observed counts as one more. Source: Fisher, "The Design of Experiments" (1935), s. 21.
    """
    differences = np.asarray(differences_N, dtype=np.float64)
    if differences.ndim != 1 or not differences.size or not np.isfinite(differences).all():
        raise ValueError("needs a row of finite differences")
    n = differences.size
    # Sums of the same numbers in another order differ in the last digits.
    observed = abs(differences.sum()) - 1e-12 * np.abs(differences).sum()
    if n <= _EXACT_FLIPS:
        signs = 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1
        return float((np.abs(signs @ differences) >= observed).mean())
    extreme = 0
    step = max(1, _CHUNK // n)
    for start in range(0, replicates, step):
        flips = generator.integers(2, size=(min(step, replicates - start), n), dtype=np.int8)
        sums = differences.sum() - 2 * (flips @ differences)
        extreme += int((np.abs(sums) >= observed).sum())
    return (extreme + 1) / (replicates + 1)


def groups(means_C: ArrayLike, differs_CC: ArrayLike) -> list[tuple[int, ...]]:
    """Give the largest sets of checkpoints in which no pair differs, the best (largest mean) first.

    `means_C` has shape (C,), `differs_CC` is symmetric: True where a pair was told apart. These are
    the letters of a compact letter display, by insertion and absorption: Piepho, "An algorithm for
    a letter-based representation of all-pairwise comparisons", JCGS 13 (2004).
    """
    means, differs = np.asarray(means_C, dtype=np.float64), np.asarray(differs_CC, dtype=bool)
    if differs.shape != (means.size, means.size) or (differs != differs.T).any():
        raise ValueError(f"{means.size} means need a symmetric matrix; got shape {differs.shape}")
    place = {int(c): rank for rank, c in enumerate(np.argsort(-means, kind="stable"))}
    sets = {frozenset(place)}
    for i, j in np.argwhere(np.triu(differs, 1)).tolist():
        for whole in [s for s in sets if i in s and j in s]:
            sets.remove(whole)
            for part in (whole - {i}, whole - {j}):
                if not any(part <= other for other in sets):
                    sets = {other for other in sets if not other <= part} | {part}
    ranked = [sorted(members, key=place.__getitem__) for members in sets]
    return [tuple(g) for g in sorted(ranked, key=lambda g: [place[c] for c in g])]


def _paired(a: Resampled, b: Resampled) -> Resampled:
    if a.scores_R.size != b.scores_R.size:
        raise ValueError(f"{a.scores_R.size} seeds can't be paired with {b.scores_R.size}")
    moves = a.replicates_RB - b.replicates_RB
    return Resampled(a.scores_R - b.scores_R, moves, a.n_examples, a.draw)
