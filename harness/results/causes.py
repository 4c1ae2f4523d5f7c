"""What scores depend on: the learning rate, pretraining steps, seeds and examples."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.results.cells import refuse
from harness.results.choosing import BY_VALIDATION
from harness.results.curves import make_curves
from harness.results.runs import Runs
from harness.results.sensitivities import BUDGETS, sensitivity_frame
from harness.results.sensitivity_pairs import compare_sensitivities
from harness.results.spread import power_frame, seeds_frame, variance_frame
from harness.results.tabling import IntervalKind, Tabler


class Causes(Runs):
    """How scores move with the rate, with pretraining, with seeds and examples."""

    def sensitivity(
        self,
        metric: str | None = None,
        split: str = "test",
        budgets: Sequence[int] = BUDGETS,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Say how much each checkpoint depends on the learning rate: one row a task, one for all.

        `range`, `deviation` and `area` (mean over log rate) of the means at each rate, with bounds
        over seeds; `best` mean; `regret` of the one rate that is best for all tasks; shares of
        diverged and collapsed runs; `best_of_m`: the expected score of the best on validation of m
        runs. Best is the largest, of a metric where lower is better the smallest.
        """
        return sensitivity_frame(
            self._cells,
            metric=metric,
            split=split,
            budgets=budgets,
            confidence=confidence,
            seed=seed,
        )

    def compare_sensitivity(
        self,
        a: str,
        b: str,
        metric: str | None = None,
        split: str = "test",
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Give a minus b of the measures of `sensitivity`: a row a task and measure.

        `range`, `deviation` and `area` at the same rates, and the shares `diverged` and `collapsed`
        of the planned runs, on each task; `regret` on all shared tasks together. Bounds are over
        seeds; those of shares are open while planned runs have no record.
        """
        for name in (a, b):
            if name not in self._cells.checkpoints:
                refuse("checkpoint", name, self._cells.checkpoints)
        return compare_sensitivities(
            self._cells, a, b, metric=metric, split=split, confidence=confidence, seed=seed
        )

    def dynamics(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        *,
        by: Sequence[str] | None = None,
        interval: IntervalKind = "seeds",
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Give scores over pretraining steps: the rows of `table`, with `series` and `step`.

        A series is the checkpoints that differ in the step alone, or as the columns `by` say.
        """
        curves = make_curves(self._cells, metric=metric, split=split, select=select, by=by)
        return curves.frame(
            Tabler(self._cells, self._reader, interval=interval, confidence=confidence)
        )

    def crossings(
        self,
        a: str,
        b: str,
        metric: str | None = None,
        split: str = "test",
        *,
        by: Sequence[str] | None = None,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Find, on each task, the step from which one of two series stays ahead, with bounds.

        Ahead is the larger score, of a metric where lower is better the smaller.
        """
        curves = make_curves(self._cells, metric=metric, split=split, select=BY_VALIDATION, by=by)
        return curves.crossings(a, b, confidence=confidence, seed=seed)

    def steps_to_reach(
        self,
        target: float,
        metric: str | None = None,
        split: str = "test",
        *,
        by: Sequence[str] | None = None,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Find the first step at which each series reaches a score on each task, with bounds.

        It is reached from below, of a metric where lower is better from above.
        """
        curves = make_curves(self._cells, metric=metric, split=split, select=BY_VALIDATION, by=by)
        return curves.steps_to_reach(target, confidence=confidence, seed=seed)

    def variance(self, metric: str | None = None, split: str = "test") -> pd.DataFrame:
        """Split the variance of each task's scores by rate, seed, example and residual."""
        return variance_frame(self._cells, self._reader, metric=metric, split=split)

    def power(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        seeds: Sequence[int] = (3, 5, 10, 20),
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Say how wide intervals are with so many seeds, and which differences would be found."""
        return power_frame(
            self._cells,
            self._reader,
            metric=metric,
            split=split,
            select=select,
            seeds=seeds,
            confidence=confidence,
        )

    def seeds_needed(
        self,
        half_width: float,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Say how many seeds a cell of each task needs for an interval of that half width."""
        return seeds_frame(
            self._cells,
            self._reader,
            half_width,
            metric=metric,
            split=split,
            select=select,
            confidence=confidence,
        )
