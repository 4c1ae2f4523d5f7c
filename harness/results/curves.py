"""Scores over pretraining steps: a curve is checkpoints that differ in the step alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import StudyError
from harness.results.cells import Cells, refuse
from harness.results.choosing import Picked, pick
from harness.results.columns import STEP, STEP_PARTS
from harness.results.direction import orient
from harness.results.frames import typed
from harness.results.tabling import Tabler
from harness.seeding import numpy_generator
from harness.stats import Crossing, crossing, steps_to_reach

WHOLE = "all checkpoints"
CURVE_TYPES = {"series": "str", STEP: "Int64"}
CROSSING_TYPES = {
    "a": "str",
    "b": "str",
    "task": "str",
    "step": "float64",
    "low": "float64",
    "high": "float64",
    "share": "float64",
    "ahead_after": "str",
}
REACH_TYPES = {
    "series": "str",
    "task": "str",
    "target": "float64",
    "step": "float64",
    "low": "float64",
    "high": "float64",
    "share": "float64",
}


class Curves:
    """The picked cells of a study as curves, by series and task.

    `by` names the checkpoint columns that set series apart; by default all but those of steps,
    where a study has intermediate steps all but the intermediate one. Raises StudyError where two
    checkpoints of a series have the same step.
    """

    def __init__(
        self, cells: Cells, picks: Sequence[Picked], by: Sequence[str] | None = None
    ) -> None:
        columns = [cell.columns for cell in cells]
        if not any(STEP in of_cell for of_cell in columns):
            raise StudyError(
                "no checkpoint of this study has a pretraining step; it comes from names such as "
                "610m-clm-42k-1000, or from a checkpoint column `step`"
            )
        known = dict.fromkeys(name for of_cell in columns for name in of_cell)
        steps = {STEP, STEP_PARTS[0]}
        if not any(STEP_PARTS[0] in of_cell for of_cell in columns):
            steps |= set(STEP_PARTS)
        if by is not None:
            for name in by:
                if name not in known:
                    refuse("column", name, list(known))
        self._by = list(by) if by is not None else [n for n in known if n not in steps]
        self.picks: dict[tuple[str, str], dict[int, Picked]] = {}
        self._vary = {
            name for name in self._by if len({str(of_cell.get(name)) for of_cell in columns}) > 1
        }
        for picked in picks:
            if STEP in picked.cell.columns:
                self._add(picked)
        for curve in self.picks.values():
            cells.refuse_unlike(picked.cell for picked in curve.values())

    @property
    def series(self) -> list[str]:
        """The names of the series."""
        return list(dict.fromkeys(series for series, _ in self.picks))

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks."""
        return list(dict.fromkeys(task for _, task in self.picks))

    def frame(self, tabler: Tabler) -> pd.DataFrame:
        """Lay out the points of all curves with their intervals, a row a point."""
        placed = [
            (series, step, picked)
            for (series, _), curve in self.picks.items()
            for step, picked in sorted(curve.items())
        ]
        table = tabler.chosen([picked for *_, picked in placed])
        head = {"series": [s for s, *_ in placed], STEP: [step for _, step, _ in placed]}
        return typed(pd.concat([pd.DataFrame(head), table], axis=1), CURVE_TYPES)

    def crossings(self, a: str, b: str, *, confidence: float, seed: int) -> pd.DataFrame:
        """Find, on each task, the step from which one of two series stays ahead.

        Ahead is the larger score, of a metric where lower is better the smaller.
        """
        for name in (a, b):
            if name not in self.series:
                refuse("series", name, self.series)
        rows = []
        for task in self.tasks:
            steps, (gains_a, gains_b) = self._shared(task, (a, b))
            if len(steps) < 2:
                continue
            generator = numpy_generator(seed, f"crossing/{a}/{b}/{task}")
            found = crossing(steps, gains_a, gains_b, generator, confidence=confidence)
            ahead = a if gains_a[-1].mean() >= gains_b[-1].mean() else b
            rows.append({"a": a, "b": b, "task": task, "ahead_after": ahead} | _columns(found))
        return typed(pd.DataFrame(rows, columns=list(CROSSING_TYPES)), CROSSING_TYPES)

    def steps_to_reach(self, target: float, *, confidence: float, seed: int) -> pd.DataFrame:
        """Find the first step at which each series reaches a score on each task.

        It is reached from below, of a metric where lower is better from above.
        """
        rows = []
        for (series, task), curve in self.picks.items():
            steps, (gains,) = self._shared(task, (series,))
            if len(steps) < 2:
                continue
            generator = numpy_generator(seed, f"reach/{series}/{task}")
            wanted = orient(target, next(iter(curve.values())).metric)
            found = steps_to_reach(steps, gains, wanted, generator, confidence=confidence)
            rows.append({"series": series, "task": task, "target": target} | _columns(found))
        return typed(pd.DataFrame(rows, columns=list(REACH_TYPES)), REACH_TYPES)

    def _add(self, picked: Picked) -> None:
        columns, task = picked.cell.columns, picked.cell.task.name
        curve = self.picks.setdefault((self._name(columns), task), {})
        step = int(columns[STEP])
        if step in curve:
            raise StudyError(
                f"{curve[step].cell.checkpoint!r} and {picked.cell.checkpoint!r} are one series at "
                f"step {step}; give the columns that set series apart (by=...), or leave one out "
                "(where)"
            )
        curve[step] = picked

    def _name(self, columns: Mapping[str, Any]) -> str:
        """Say a series by the values of what sets it apart."""
        parts = [f"{n}={columns[n]}" for n in self._by if n in self._vary and n in columns]
        return " ".join(parts) or WHOLE

    def _shared(
        self, task: str, names: Sequence[str]
    ) -> tuple[list[int], list[NDArray[np.float64]]]:
        """Give the steps that all these series have whole, and each one's gains (steps, seeds)."""
        curves = [
            {step: p for step, p in self.picks.get((name, task), {}).items() if p.is_whole}
            for name in names
        ]
        steps = sorted(set.intersection(*(set(curve) for curve in curves)))
        stacks = []
        for curve in curves:
            gains = [curve[step].gains for step in steps]
            if len({of_step.size for of_step in gains}) > 1:
                raise StudyError(f"{task}: the steps of a curve have different numbers of seeds")
            stacks.append(np.stack(gains) if gains else np.empty((0, 0)))
        return steps, stacks


def make_curves(
    cells: Cells, *, metric: str | None, split: str, select: str | float, by: Sequence[str] | None
) -> Curves:
    """Choose in every cell and put the cells in order of their steps."""
    return Curves(cells, pick(cells, metric=metric, split=split, select=select), by)


def _columns(found: Crossing) -> dict[str, Any]:
    return {"step": found.step, "low": found.low, "high": found.high, "share": found.share}
