"""Scores per example of the runs behind a table, and one draw of examples for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import InputError, StudyError
from harness.foreign import (
    AnyRun,
    ForeignRun,
    example_scores_path,
    read_example_scores,
)
from harness.predictions import read_predictions
from harness.results.choosing import Picked
from harness.seeding import numpy_generator
from harness.stats import Resampled, f1_of_counts, mcc_of_counts, ratio_of_sums, resample_examples

if TYPE_CHECKING:
    from harness.metrics.examples import Gives

Floats = NDArray[np.float64]
REPLICATES = 10_000
SAME_SCORE = 1e-4
"""A recorded score and the one that its examples give may differ by this much, for rounding."""


def correlation_of_sums(sums: Floats) -> Floats:
    """Pearson's correlation of sums of 1, x, y, xx, yy, xy, shape (..., 6); 0 where undefined."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = np.sqrt(np.maximum(xx * n - x * x, 0.0) * np.maximum(yy * n - y * y, 0.0))
    is_constant = spread == 0
    found: Floats = np.where(is_constant, 0.0, (xy * n - x * y) / np.where(is_constant, 1, spread))
    return found


STATISTICS: dict[str, Callable[[Floats], Floats] | None] = {
    "mean": None,
    "f1": f1_of_counts,
    "ratio": ratio_of_sums,
    "mcc": mcc_of_counts,
    "correlation": correlation_of_sums,
}


@dataclass(frozen=True, eq=False)
class ExampleScores:
    """What the same examples give to several runs: shape (runs, examples), or (.., counts)."""

    run_ids: tuple[str, ...]
    ids: NDArray[np.object_]
    form: str
    given: Floats

    def scores(self) -> Floats:
        """Give each run's score from its examples, shape (runs,)."""
        statistic = STATISTICS[self.form]
        return self.given.mean(axis=1) if statistic is None else statistic(self.given.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Drawn:
    """One draw of a task's examples for many runs."""

    resampled: Resampled
    row_of: Mapping[str, int]
    examples: ExampleScores

    def of(self, run_ids: Sequence[str]) -> Resampled:
        """Pick runs, as the seeds of a cell."""
        return self.resampled.rows([self.row_of[run_id] for run_id in run_ids])

    def means_of(self, groups: Sequence[Sequence[str]]) -> Resampled:
        """Average the runs of each group: a row a group."""
        cells = [self.of(run_ids) for run_ids in groups]
        return Resampled(
            np.array([cell.scores_R.mean() for cell in cells]),
            np.stack([cell.replicates_RB.mean(axis=0) for cell in cells]),
            self.resampled.n_examples,
            self.resampled.draw,
        )

    def given(self, run_ids: Sequence[str]) -> Floats:
        """Pick what the examples give to some runs, shape (runs, examples[, counts])."""
        return self.examples.given[[self.row_of[run_id] for run_id in run_ids]]


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of cells; `faults` says of a cell why it has none.

    `reasons` says why not all cells of a task have one draw in common.
    """

    by_cell: Mapping[Picked, Drawn] = field(default_factory=dict)
    faults: Mapping[Picked, str] = field(default_factory=dict)
    reasons: Sequence[str] = ()


def by_task(picks: Iterable[Picked]) -> dict[str, list[Picked]]:
    """Part picks by the names of their tasks."""
    parts: dict[str, list[Picked]] = {}
    for picked in picks:
        parts.setdefault(picked.cell.task.name, []).append(picked)
    return parts


@dataclass(frozen=True, eq=False)
class ExampleReader:
    """Reads what stored predictions give per example, and keeps the draws made of it.

    `homes` has the study folder of each run's `latest` record.
    """

    homes: Mapping[str, Path]
    latest: Mapping[str, Mapping[str, Any]]
    _drawn: dict[tuple[Any, ...], Drawn] = field(default_factory=dict, init=False)

    def draw(self, picks: Sequence[Picked], *, seed: int = 0) -> Draws:
        """Draw the examples of each cell: the same draw for cells of a task of the same examples.

        Where a cell can't be drawn, that costs no other one.
        """
        by_cell: dict[Picked, Drawn] = {}
        faults: dict[Picked, str] = {}
        reasons: list[str] = []
        for of_task in by_task(picks).values():
            try:
                by_cell |= dict.fromkeys(of_task, self._draw_task(of_task, seed))
            except InputError as error:
                reasons.append(str(error))
                for same in self._by_examples(of_task, faults):
                    by_cell |= dict.fromkeys(same, self._draw_task(same, seed))
        return Draws(by_cell, faults, reasons)

    def draw_runs(
        self,
        runs: Sequence[AnyRun],
        split: str,
        metric: str,
        *,
        replicates: int = REPLICATES,
        seed: int = 0,
    ) -> Drawn:
        """Draw the examples of one task for these runs, rows in their order; raises as `draw`."""
        examples = self.read(runs, split, metric)
        generator = numpy_generator(seed, f"examples/{runs[0].task.name}/{split}")
        resampled = resample_examples(
            examples.given, generator, statistic=STATISTICS[examples.form], replicates=replicates
        )
        row_of = {run_id: row for row, run_id in enumerate(examples.run_ids)}
        return Drawn(resampled, row_of, examples)

    def read(self, runs: Sequence[AnyRun], split: str, metric: str) -> ExampleScores:
        """Read what the examples of a split give to runs of one task.

        Raises:
            StudyError: predictions are missing, are not those of the recorded score, or are of
                other examples in one run than in another.
            InputError: the metric is no function of sums over examples.
        """
        ids: NDArray[np.object_] | None = None
        form, values = "mean", []
        for run, (own, gives) in zip(runs, self._each(runs, split, metric), strict=True):
            if ids is None:
                ids, form = own, gives.form
            elif len(own) != len(ids) or not (own == ids).all():
                raise StudyError(
                    f"{run.task.name}: runs {runs[0].run_id} and {run.run_id} are of other "
                    f"{split} examples, so they can't be paired example by example"
                )
            values.append(gives.values)
        if ids is None:
            raise StudyError(f"no run with {split} {metric} to read examples of")
        read = ExampleScores(tuple(run.run_id for run in runs), ids, form, np.stack(values))
        self._check(read, split, metric)
        return read

    def _by_examples(
        self, picks: Sequence[Picked], faults: dict[Picked, str]
    ) -> list[list[Picked]]:
        """Part the cells of a task by their examples; of those that have none, note the fault."""
        parts: dict[tuple[Any, ...], list[Picked]] = {}
        for picked in picks:
            try:
                ids = self.read(picked.runs, picked.split, picked.metric).ids
            except InputError as error:
                faults[picked] = str(error)
            else:
                parts.setdefault(tuple(ids), []).append(picked)
        return list(parts.values())

    def _draw_task(self, picks: Sequence[Picked], seed: int) -> Drawn:
        first = picks[0]
        key = (first.cell.task.name, first.split, first.metric, seed)
        wanted = {run_id for picked in picks for run_id in picked.run_ids}
        known = self._drawn.get(key)
        if known is not None and wanted <= known.row_of.keys():
            return known
        runs = {run.run_id: run for picked in picks for run in picked.runs}
        self._drawn[key] = self.draw_runs(list(runs.values()), first.split, first.metric, seed=seed)
        return self._drawn[key]

    def _each(
        self, runs: Sequence[AnyRun], split: str, metric: str
    ) -> list[tuple[NDArray[np.object_], Gives]]:
        foreign = [run for run in runs if isinstance(run, ForeignRun)]
        found = self._foreign(foreign, split, metric) if foreign else {}
        return [found.get(run.run_id) or self._own(run, split, metric) for run in runs]

    def _own(self, run: AnyRun, split: str, metric: str) -> tuple[NDArray[np.object_], Gives]:
        from harness.metrics.examples import columns_for, example_gives

        assert not isinstance(run, ForeignRun)
        frame = read_predictions(self.homes[run.run_id], run.run_id, columns_for(run.task))
        frame = frame[frame["split"] == split]
        if frame.empty:
            raise StudyError(f"run {run.run_id} has no predictions of the {split} split")
        threshold = self.latest[run.run_id]["scores"][split].get("null_threshold")
        return frame["id"].to_numpy(object), example_gives(run.task, metric, frame, threshold)

    def _foreign(
        self, runs: Sequence[ForeignRun], split: str, metric: str
    ) -> dict[str, tuple[NDArray[np.object_], Gives]]:
        """Read foreign runs cell by cell: one file has all runs of a checkpoint on a task."""
        from harness.metrics.examples import Gives

        by_cell: dict[tuple[Path, str], list[str]] = {}
        for run in runs:
            if metric != run.task.main_metric:
                raise StudyError(
                    f"{run.task.name}: imported without scores per example of {metric}"
                )
            by_cell.setdefault((self.homes[run.run_id], run.checkpoint.name), []).append(run.run_id)
        task, found = runs[0].task.name, {}
        for (folder, checkpoint), run_ids in by_cell.items():
            path = example_scores_path(folder, checkpoint, task)
            columns = read_example_scores(path, run_ids)
            of_split = columns["split"] == split
            for run_id in run_ids:
                keep = of_split & np.isfinite(columns[run_id])
                gives = Gives("mean", columns[run_id][keep])
                found[run_id] = columns["id"][keep].astype(object), gives
        return found

    def _check(self, examples: ExampleScores, split: str, metric: str) -> None:
        """Hold what the examples give against what was recorded."""
        for run_id, score in zip(examples.run_ids, examples.scores(), strict=True):
            recorded = self.latest[run_id]["scores"][split][metric]
            if abs(score - recorded) > SAME_SCORE:
                raise StudyError(
                    f"run {run_id}: its predictions give a {split} {metric} of {score:.6f}, its "
                    f"record says {recorded:.6f}; were they replaced?"
                )
