"""Which runs of a cell are reported: those of a point chosen on validation, or as asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.errors import StudyError
from harness.foreign import AnyRun
from harness.results.cells import Cell, Cells
from harness.results.direction import orient
from harness.stats import choose_and_report, choose_per_seed, report_per_seed

BY_VALIDATION = "validation mean"
INCOMPLETE_TOO = "validation mean, incomplete rates too"
PER_SEED = "per seed"
ONE_POINT = "one point, nothing to choose"


@dataclass(frozen=True, eq=False)
class Picked:
    """The reported runs of a cell.

    `points` is the position of the point of each seed, shape (seeds,), -1 where the seed has no
    reported score or nothing could be chosen; `scores` are the reported ones, of those seeds alone.
    `point` is the one point of all seeds where there is one. `is_whole` says that the mean may be
    shown: the chosen runs are all good, or incomplete ones were asked for.
    """

    cell: Cell
    metric: str
    split: str
    select: str
    points: NDArray[np.intp]
    scores: NDArray[np.float64]
    n_ok: int
    n_planned: int
    is_whole: bool
    point: int | None = None
    at_edge: bool | None = None

    @property
    def gains(self) -> NDArray[np.float64]:
        """The reported scores with the sign that makes larger ones better."""
        return orient(self.scores, self.metric)

    @property
    def is_by_mean(self) -> bool:
        """Say whether the point was chosen by the mean validation score of its seeds."""
        return self.point is not None and self.select in {BY_VALIDATION, INCOMPLETE_TOO}

    @property
    def runs(self) -> list[AnyRun]:
        """The runs whose scores are reported, in the order of `scores`."""
        return [
            self.cell.runs[int(point), column]
            for column, point in enumerate(self.points)
            if point >= 0
        ]

    @property
    def run_ids(self) -> list[str]:
        """The ids of `runs`."""
        return [run.run_id for run in self.runs]


def pick(
    cells: Cells,
    *,
    metric: str | None,
    split: str,
    select: str | float,
    allow_incomplete: bool = False,
    checkpoints: Collection[str] | None = None,
) -> list[Picked]:
    """Choose in every cell that has the metric, of all or some checkpoints.

    Raises StudyError for an unknown metric, split or rate.
    """
    shown = [
        (cell, name)
        for cell, name in cells.shown(metric, split)
        if checkpoints is None or cell.checkpoint in checkpoints
    ]
    if isinstance(select, str) and select not in {BY_VALIDATION, PER_SEED}:
        raise StudyError(
            f"select: {select!r} is neither {BY_VALIDATION!r} nor {PER_SEED!r} nor a learning rate"
        )
    rate = None if isinstance(select, str) else cells.same_rate(select)
    if select == PER_SEED:
        return [_pick_per_seed(cell, name, split, allow_incomplete) for cell, name in shown]
    return [_pick_one(cell, name, split, rate, allow_incomplete) for cell, name in shown]


def pick_each_point(cells: Cells, *, metric: str | None, split: str) -> list[list[Picked]]:
    """Report every point of every cell, over the good runs: nothing is chosen."""
    return [
        [_at_point(cell, name, split, point) for point in range(len(cell.recipes))]
        for cell, name in cells.shown(metric, split)
    ]


def _pick_one(
    cell: Cell, metric: str, split: str, rate: float | None, allow_incomplete: bool
) -> Picked:
    reported = cell.values(split, metric)
    validation = cell.gains("validation", cell.task.main_metric)
    select = INCOMPLETE_TOO if allow_incomplete else BY_VALIDATION
    if rate is not None:
        select = f"one rate for all, learning_rate={rate}"
    candidates = len(cell.recipes) if rate is None else int(np.isclose(cell.rates, rate).sum())
    if candidates == 1 and not np.isfinite(validation).any():
        # Foreign results may have no validation scores; with one point none are needed.
        validation = reported
        select = ONE_POINT if rate is None else select
    chosen = choose_and_report(
        validation,
        reported,
        cell.rates,
        fixed_rate=rate,
        allow_incomplete=allow_incomplete,
        planned_PS=cell.is_planned,
    )
    points = np.full(len(cell.seeds), -1, dtype=np.intp)
    if chosen.choice is None:
        return Picked(
            cell, metric, split, select, points, np.empty(0), chosen.n_ok, chosen.n_planned, False
        )
    point = chosen.choice.point
    is_good = np.isfinite(reported[point])
    points[is_good] = point
    return Picked(
        cell=cell,
        metric=metric,
        split=split,
        select=select,
        points=points,
        scores=reported[point][is_good],
        n_ok=chosen.n_ok,
        n_planned=chosen.n_planned,
        is_whole=chosen.interval is not None,
        point=point,
        at_edge=chosen.choice.at_edge,
    )


def _pick_per_seed(cell: Cell, metric: str, split: str, allow_incomplete: bool) -> Picked:
    reported = cell.values(split, metric)
    validation = cell.gains("validation", cell.task.main_metric)
    chosen = report_per_seed(
        validation,
        reported,
        cell.rates,
        allow_incomplete=allow_incomplete,
        planned_PS=cell.is_planned,
    )
    points = choose_per_seed(
        validation, cell.rates, allow_incomplete=allow_incomplete, planned_PS=cell.is_planned
    )
    scores = np.where(points >= 0, reported[points, np.arange(len(cell.seeds))], np.nan)
    points[~np.isfinite(scores)] = -1
    return Picked(
        cell=cell,
        metric=metric,
        split=split,
        select=PER_SEED,
        points=points,
        scores=scores[points >= 0],
        n_ok=chosen.n_ok,
        n_planned=chosen.n_planned,
        is_whole=chosen.interval is not None,
    )


def _at_point(cell: Cell, metric: str, split: str, point: int) -> Picked:
    scores = cell.values(split, metric)[point]
    is_good = np.isfinite(scores)
    return Picked(
        cell=cell,
        metric=metric,
        split=split,
        select="every point",
        points=np.where(is_good, point, -1).astype(np.intp),
        scores=scores[is_good],
        n_ok=int(is_good.sum()),
        n_planned=len(cell.at(point)),
        is_whole=bool(is_good.any()),
        point=point,
    )


def same_select(ways: Iterable[str]) -> str:
    """Say how points were chosen: the first way that is not that there was only one."""
    return next((way for way in ways if way != ONE_POINT), ONE_POINT)
