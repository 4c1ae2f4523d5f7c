"""Cells of studies whose truth is known: two checkpoints, one task, K seeds, N examples.

An answer has a latent value: the skill of its run + the difficulty of its example + noise, of
variance 1 in all, in the shares of a `Design`. Answers are these values (scores), or whether they
lie below a threshold that 80 % do (right or wrong).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from harness import stats

Floats = NDArray[np.float64]
Claim = tuple[str, stats.Interval | stats.Bounds, float]
"""The name of an interval, the interval, and the truth that it should hold."""

REPLICATES = 400
ACCURACY = 0.8
ANSWERS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Design:
    """The shares of seed and example in an answer's variance (noise is the rest), and its form."""

    name: str
    seed: float
    example: float
    right_or_wrong: bool = False

    @property
    def truth(self) -> float:
        """The expected score."""
        return ACCURACY if self.right_or_wrong else 0.0

    def truth_given(self, examples_N: Floats) -> float:
        """The expected score of other seeds on these examples, of known difficulty."""
        if not self.right_or_wrong:
            return float(examples_N.mean())
        spread = (1 - self.example) ** 0.5
        return float(ndtr((ndtri(ACCURACY) - examples_N) / spread).mean())

    def answer(self, examples_SN: Floats, n_seeds: int, rng: np.random.Generator) -> Floats:
        """Draw answers (studies, seeds, examples) to examples of known difficulty."""
        noise = 1 - self.seed - self.example
        n_studies, n_examples = examples_SN.shape
        latent = rng.normal(0, noise**0.5, (n_studies, n_seeds, n_examples))
        latent += rng.normal(0, self.seed**0.5, (n_studies, n_seeds, 1))
        latent += examples_SN[:, None]
        return (latent < ndtri(ACCURACY)).astype(np.float64) if self.right_or_wrong else latent


DESIGNS = (
    Design("noise alone", 0.0, 0.0),
    Design("no seed effect", 0.0, 0.5),
    Design("seeds 0.1 %", 0.001, 0.5),
    Design("seeds 1 %", 0.01, 0.5),
    Design("seeds 20 %", 0.2, 0.5),
    Design("no seed effect", 0.0, 0.5, right_or_wrong=True),
    Design("seeds 0.1 %", 0.001, 0.5, right_or_wrong=True),
    Design("seeds 2 %", 0.02, 0.5, right_or_wrong=True),
)


def claims(
    design: Design, n_seeds: int, n_examples: int, n_studies: int, rng: np.random.Generator
) -> Iterator[Claim]:
    """Draw studies of two equally good checkpoints; give the intervals of each."""
    at_once = max(1, ANSWERS_AT_ONCE // (2 * n_seeds * n_examples))
    for start in range(0, n_studies, at_once):
        size = min(at_once, n_studies - start)
        # Half of an example's difficulty is the same for both checkpoints.
        shared, *own = rng.normal(0, (design.example / 2) ** 0.5, (3, size, n_examples))
        answers = [design.answer(shared + mine, n_seeds, rng) for mine in own]
        runs = stats.resample_examples(
            np.stack(answers, axis=1).reshape(-1, n_examples), rng, replicates=REPLICATES
        )
        for study in range(size):
            rows = np.arange(n_seeds) + study * 2 * n_seeds
            a, b = runs.rows(rows), runs.rows(rows + n_seeds)
            yield from _claims_of_one(a, b, design, (shared + own[0])[study], rng)


def _claims_of_one(
    a: stats.Resampled,
    b: stats.Resampled,
    design: Design,
    examples_N: Floats,
    rng: np.random.Generator,
) -> Iterator[Claim]:
    seeds, both = stats.student_t(a.scores_R), stats.over_seeds_and_examples(a).interval()
    drawn = stats.percentile_bounds(seeds.mean, stats.multi_bootstrap(a, rng))
    yield "seeds", seeds, design.truth_given(examples_N)
    yield "both", both, design.truth
    yield "difference", stats.compare_runs(a, b).interval(), 0.0
    yield "seeds, asked for both", seeds, design.truth
    yield "percentiles", drawn, design.truth
