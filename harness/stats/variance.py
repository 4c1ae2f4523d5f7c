"""Where the variance of scores comes from: learning rate, seed, example, or the noise of answers.

Random effects by the method of moments on a balanced analysis of variance: x = mean + rate +
run(rate) + example + residual, where a run is one seed at one rate. Mean squares are set equal to
what they are expected to be; an estimate below 0 is given as 0. Source: Searle, Casella and
McCulloch, "Variance Components" (1992), chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.aggregates import checked

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Components:
    """Variances of one answer of one run; None where the data can't tell.

    From scores of runs alone `seed` is all that differs between seeds, the noise of finite test
    sets included.
    """

    rate: float | None
    seed: float | None
    example: float | None
    residual: float | None

    def shares(self) -> dict[str, float]:
        """Give the share of each known part in their sum; {} where all are 0 or unknown."""
        known = {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
        }
        total = sum(known.values())
        return {name: value / total for name, value in known.items()} if total else {}


def components(values: ArrayLike) -> Components:
    """Split the variance of scores of one checkpoint and task.

    `values` has shape (rates, seeds, examples), or (rates, seeds) for scores of runs; finite, and
    one rate is enough (`rate` is then None). Two seeds are needed to tell anything of seeds.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim == 2:
        scores_PK = checked(given, 2)
        rate, seed = _rate_and_seed(scores_PK, 0.0)
        return Components(rate, seed, None, None)
    x = checked(given, 3)
    n_rates, n_seeds, n_examples = x.shape
    n_runs = n_rates * n_seeds
    if n_runs < 2 or n_examples < 2:
        raise ValueError(f"needs two runs and two examples; got shape {x.shape}")
    residual = _residual(x.reshape(n_runs, n_examples))
    example = float(x.mean(axis=(0, 1)).var(ddof=1)) - residual / n_runs
    rate, seed = _rate_and_seed(x.mean(axis=2), residual / n_examples)
    return Components(rate, seed, max(example, 0.0), residual)


def difference_components(a: ArrayLike, b: ArrayLike) -> Components:
    """Split the variance of the difference of two checkpoints' scores at one rate each.

    Shapes (seeds, examples), the same examples on both sides but not necessarily as many seeds; or
    (seeds,) for scores of runs. `seed` and `residual` are the sum of both sides; `example` is how
    much the difference between the checkpoints varies from example to example.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (a, b)]
    if sides[0].ndim == 1:
        split = [components(side[None]) for side in sides]
        return Components(None, _total([s.seed for s in split]), None, None)
    x, y = (checked(side, 2) for side in sides)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"{x.shape[1]} examples can't be paired with {y.shape[1]}")
    split = [components(side[None]) for side in (x, y)]
    noise = sum((s.residual or 0.0) / len(side) for s, side in zip(split, (x, y), strict=True))
    example = float((x.mean(axis=0) - y.mean(axis=0)).var(ddof=1)) - noise
    seed, residual = _total([s.seed for s in split]), _total([s.residual for s in split])
    return Components(None, seed, max(example, 0.0), residual)


def average_components(several: Sequence[Components]) -> Components:
    """Average each part over those cells that tell it; None where none does."""
    columns = zip(*(astuple(one) for one in several), strict=True)
    means = []
    for column in columns:
        known = [value for value in column if value is not None]
        means.append(sum(known) / len(known) if known else None)
    return Components(*means)


def _rate_and_seed(scores_PK: Floats, noise: float) -> tuple[float | None, float | None]:
    """Split scores of runs, each of which carries the variance `noise` of finite test sets."""
    n_rates, n_seeds = scores_PK.shape
    if n_seeds < 2:
        return None, None
    between_seeds = float(scores_PK.var(axis=1, ddof=1).mean())
    seed = max(between_seeds - noise, 0.0)
    if n_rates < 2:
        return None, seed
    between_rates = float(scores_PK.mean(axis=1).var(ddof=1))
    return max(between_rates - between_seeds / n_seeds, 0.0), seed


def _residual(x_RN: Floats) -> float:
    """Give the mean square of what neither the run nor the example explains."""
    left = x_RN - x_RN.mean(axis=1, keepdims=True)
    left -= left.mean(axis=0)
    n_runs, n_examples = x_RN.shape
    freedom = (n_runs - 1) * (n_examples - 1)
    return float(np.square(left).sum() / freedom)


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
