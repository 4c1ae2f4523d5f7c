"""Two sides on one task: a checkpoint each, or several, and what is claimed of their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.results.choosing import Picked
from harness.results.direction import orient
from harness.results.examples import Drawn
from harness.results.shared import count_trainings_once
from harness.seeding import numpy_generator
from harness.stats import (
    Estimate,
    average,
    compare_runs,
    improvement_bounds,
    mcnemar,
    over_seeds,
    sign_flip,
    subtract,
)

FLIPS = 2_000
"""Sign flips of a check beside the p of the interval; more would take most of a comparison."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pair:
    """The picked runs of side a and of side b, all on one task and whole."""

    a: tuple[Picked, ...]
    b: tuple[Picked, ...]

    @property
    def task(self) -> str:
        """The task's name."""
        return self.a[0].cell.task.name

    @property
    def metric(self) -> str:
        """The metric that both sides show."""
        return self.a[0].metric

    @property
    def is_single(self) -> bool:
        """Say whether each side is one checkpoint."""
        return len(self.a) == len(self.b) == 1

    @property
    def is_of_recipes(self) -> bool:
        """Say whether several checkpoints a side are what varies."""
        return len(self.a) > 1 and len(self.b) > 1

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each side, over its checkpoints' means."""
        a, b = (
            float(np.mean([picked.scores.mean() for picked in side])) for side in (self.a, self.b)
        )
        return a, b

    @property
    def counts(self) -> dict[str, int]:
        """How many runs each side has."""
        return {
            "n_a": sum(picked.n_ok for picked in self.a),
            "n_b": sum(picked.n_ok for picked in self.b),
        }

    @property
    def units(self) -> tuple[Floats, Floats]:
        """What varies on each side: the seeds of one checkpoint, or the means of several."""
        return _units(self.a), _units(self.b)

    @property
    def gains(self) -> tuple[Floats, Floats]:
        """The units with the sign that makes larger ones better."""
        a, b = self.units
        return orient(a, self.metric), orient(b, self.metric)

    def estimate(self, drawn: Mapping[str, Drawn | None]) -> Estimate:
        """Give a minus b: by paired examples where they were drawn and each side is one.

        Where they can't be (None) there is a difference and no interval.
        """
        if self.is_of_recipes:
            a, b = self.units
            return subtract(over_seeds(a), over_seeds(b))
        if self.is_single and self.task in drawn:
            of_task = drawn[self.task]
            if of_task is None:
                mean_a, mean_b = self.means
                return Estimate(mean_a - mean_b, None, None)
            return compare_runs(of_task.of(self.a[0].run_ids), of_task.of(self.b[0].run_ids))
        return subtract(
            average([over_seeds(picked.scores) for picked in self.a]),
            average([over_seeds(picked.scores) for picked in self.b]),
        )

    def head(self) -> dict[str, Any]:
        """Name task, kind, metric and split, and give the means."""
        first, (mean_a, mean_b) = self.a[0], self.means
        return {
            "task": self.task,
            "kind": first.cell.task.kind,
            "metric": self.metric,
            "split": first.split,
            "mean_a": mean_a,
            "mean_b": mean_b,
        }

    def by_example(self, drawn: Mapping[str, Drawn | None], seed: int) -> dict[str, Any]:
        """Give the checks that need scores per example: sign flips, McNemar for one run a side."""
        of_task = drawn.get(self.task)
        if not self.is_single or of_task is None or of_task.examples.form != "mean":
            return {}
        a, b = of_task.given(self.a[0].run_ids), of_task.given(self.b[0].run_ids)
        generator = numpy_generator(seed, f"signs/{self.task}")
        differences = a.mean(axis=0) - b.mean(axis=0)
        found = {"p_permutation": sign_flip(differences, generator, replicates=FLIPS)}
        if len(a) == len(b) == 1 and np.isin(np.concatenate([a, b]), (0.0, 1.0)).all():
            found["p_mcnemar"] = mcnemar(a[0], b[0]).p_value
        return found


def average_pairs(pairs: Sequence[Pair], drawn: Mapping[str, Drawn | None]) -> Estimate:
    """Average the differences of some tasks; trainings that tasks share are drawn once."""
    cells = [
        (sign / len(side) / len(pairs), picked)
        for pair in pairs
        for sign, side in ((1, pair.a), (-1, pair.b))
        for picked in side
    ]
    return count_trainings_once(average([pair.estimate(drawn) for pair in pairs]), cells, drawn)


def numbers(estimate: Estimate, confidence: float) -> dict[str, Any]:
    """Give a difference with its interval and p; NaN where there is none."""
    interval = estimate.interval(confidence)
    p = estimate.p_value()
    return {
        "difference": estimate.mean,
        "low": interval.low,
        "high": interval.high,
        "p": np.nan if p is None else p,
    }


def improvement(
    a_KT: Floats, b_KT: Floats, *, name: str, confidence: float, seed: int, of_recipes: bool = False
) -> dict[str, Any]:
    """Give how often what varies on side a beats that on side b; {} where one side has one.

    Of recipes these are checkpoints, each the same on all tasks.
    """
    if min(len(a_KT), len(b_KT)) < 2:
        return {}
    generator = numpy_generator(seed, f"improvement/{name}")
    bounds = improvement_bounds(a_KT, b_KT, generator, confidence=confidence, draws_rows=of_recipes)
    return {
        "improvement": bounds.value,
        "improvement_low": bounds.low,
        "improvement_high": bounds.high,
    }


def _units(side: tuple[Picked, ...]) -> Floats:
    if len(side) == 1:
        return side[0].scores
    return np.array([picked.scores.mean() for picked in side])
