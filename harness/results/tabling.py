"""Tables as frames: a row a cell, or a row a group of cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from harness.errors import InputError, StudyError
from harness.results.cells import Cells
from harness.results.choosing import Picked, same_select
from harness.results.direction import name_together, orient_draws
from harness.results.examples import Drawn, Draws, ExampleReader, by_task
from harness.results.frames import typed
from harness.results.shared import count_trainings_once
from harness.seeding import numpy_generator
from harness.stats import (
    Estimate,
    Interval,
    average,
    nested,
    over_examples,
    over_seeds,
    over_seeds_and_examples,
)

IntervalKind = Literal["seeds", "both", "nested"]
INTERVALS: dict[str, str] = {
    "seeds": "Student t over seeds",
    "both": "seeds and examples",
    "nested": "seeds, examples and the choice of the rate",
}
COLUMN_AXES = ("task", "kind")
RATE = "learning_rate"

HEAD_TYPES = {
    "checkpoint": "str",
    "task": "str",
    "kind": "str",
    "metric": "str",
    "split": "str",
    "learning_rate": "float64",
    "point": "str",
}
INTERVAL_TYPES = {"mean": "float64", "low": "float64", "high": "float64", "half_width": "float64"}
COUNT_TYPES = {"n_ok": "int64", "n_planned": "int64"}
TABLE_TYPES = {
    **HEAD_TYPES,
    "at_edge": "boolean",
    **INTERVAL_TYPES,
    **COUNT_TYPES,
    "collapsed": "Int64",
    "select": "str",
    "interval": "str",
}
RATES_TYPES = {
    **HEAD_TYPES,
    **INTERVAL_TYPES,
    **COUNT_TYPES,
    "diverged": "int64",
    "failed": "int64",
    "blocked": "int64",
    "collapsed": "int64",
    "interval": "str",
}
GROUP_TYPES = {
    "metric": "str",
    "split": "str",
    **INTERVAL_TYPES,
    **COUNT_TYPES,
    "collapsed": "Int64",
    "checkpoints": "int64",
    "tasks": "int64",
    "select": "str",
    "interval": "str",
}


class Tabler:
    """Makes the tables of a study's cells with one kind of interval."""

    def __init__(
        self,
        cells: Cells,
        reader: ExampleReader,
        *,
        interval: IntervalKind = "seeds",
        confidence: float = 0.95,
        seed: int = 0,
    ) -> None:
        if interval not in INTERVALS:
            raise StudyError(f"interval: {interval!r} is none of {', '.join(INTERVALS)}")
        self._cells = cells
        self._reader = reader
        self._kind = interval
        self._confidence = confidence
        self._seed = seed

    def chosen(self, picks: Sequence[Picked]) -> pd.DataFrame:
        """Lay out chosen runs, a row a cell."""
        draws = self._draw(picks)
        rows = []
        for picked in picks:
            cell = picked.cell
            row = _head(picked) | {"select": picked.select}
            row |= self._interval_columns(picked, draws)
            if picked.point is not None:
                row |= {"learning_rate": cell.rates[picked.point]}
                row |= {"point": self._cells.point(cell.recipes[picked.point])}
                row |= {"at_edge": picked.at_edge, "collapsed": cell.collapsed(picked.point)}
            rows.append(row)
        return self._framed(rows, TABLE_TYPES)

    def every_point(self, picks: Iterable[Picked]) -> pd.DataFrame:
        """Lay out the points of cells, a row a point."""
        picks = list(picks)
        draws = self._draw(picks)
        rows = []
        for picked in picks:
            cell, point = picked.cell, picked.point
            assert point is not None
            states = Counter(record["status"] for record in cell.at(point) if record)
            row = _head(picked) | self._interval_columns(picked, draws)
            row |= {"learning_rate": cell.rates[point]}
            row |= {"point": self._cells.point(cell.recipes[point])}
            row |= {state: states[state] for state in ("diverged", "failed", "blocked")}
            rows.append(row | {"collapsed": cell.collapsed(point)})
        return self._framed(rows, RATES_TYPES)

    def grouped(self, picks: Sequence[Picked], axes: Sequence[str], column: str) -> pd.DataFrame:
        """Average cells that share the values of some columns; absent where one of them is."""
        if self._kind == "nested":
            raise StudyError("interval nested: is of single cells; group with seeds or both")
        draws = self._draw(picks)
        groups: dict[tuple[Any, ...], list[Picked]] = {}
        for picked in picks:
            keys = [self._value(picked, axis) for axis in (*axes, column)]
            groups.setdefault(tuple(keys), []).append(picked)
        select = {} if RATE in axes else {"select": same_select(picked.select for picked in picks)}
        rows = []
        for key, members in groups.items():
            self._cells.refuse_unlike(picked.cell for picked in members)
            row: dict[str, Any] = dict(zip((*axes, column), key, strict=True))
            row |= _summed_up(members) | select
            rows.append(row | self._pooled(members, draws))
        extra = {column: "str"}
        names = [*axes, column, *(n for n in GROUP_TYPES if n != "select" or select)]
        frame = pd.DataFrame(rows, columns=names)
        return typed(frame, {n: t for n, t in (GROUP_TYPES | extra).items() if n in frame})

    def _draw(self, picks: Sequence[Picked]) -> Draws:
        """Draw the examples of each cell that is whole; none for intervals over seeds alone."""
        if self._kind == "seeds":
            return Draws()
        whole = [picked for picked in picks if picked.is_whole]
        return self._reader.draw(whole, seed=self._seed)

    def _interval_columns(self, picked: Picked, draws: Draws) -> dict[str, Any]:
        said = f"{INTERVALS[self._kind]}, {100 * self._confidence:g} %"
        if not picked.is_whole:
            return {"interval": said}
        if self._kind == "nested":
            found, said = self._nested(picked, said)
            return _columns(found, said)
        if fault := draws.faults.get(picked):
            return {"mean": float(picked.scores.mean()), "interval": f"none: {fault}"}
        estimate = _estimate(picked, draws.by_cell.get(picked))
        return _columns(estimate.interval(self._confidence), said)

    def _nested(self, picked: Picked, said: str) -> tuple[Interval, str]:
        """Choose again in every replicate, which needs every run of the cell to be good."""
        cell = picked.cell
        none = Interval(float(picked.scores.mean()), None)
        if not picked.is_by_mean or len(cell.seeds) < 2:
            return none, (
                "none: nested needs a rate chosen by the mean validation score of several seeds"
            )
        validation = cell.values("validation", cell.task.main_metric)
        if not np.isfinite([validation, cell.values(picked.split, picked.metric)]).all():
            return none, "none: nested needs all runs of the cell to be good, with both scores"
        runs = [cell.runs[place] for place in np.ndindex(validation.shape)]
        try:
            on_validation = self._reader.draw_runs(
                runs, "validation", cell.task.main_metric, seed=self._seed
            )
            reported = self._reader.draw_runs(runs, picked.split, picked.metric, seed=self._seed)
        except InputError as error:
            return none, f"none: {error}"
        generator = numpy_generator(self._seed, f"nested/{cell.checkpoint}/{cell.task.name}")
        found = nested(
            orient_draws(on_validation.resampled, cell.task.main_metric),
            reported.resampled,
            cell.rates,
            generator,
            confidence=self._confidence,
        )
        return found, said

    def _pooled(self, members: Sequence[Picked], draws: Draws) -> dict[str, Any]:
        said = f"{INTERVALS[self._kind]}, {100 * self._confidence:g} %"
        if not all(picked.is_whole for picked in members):
            return {"interval": said}
        parts = by_task(members)
        reasons = [draws.faults[picked] for picked in members if picked in draws.faults]
        reasons += [
            f"{task}: its checkpoints are not of the same {members[0].split} examples"
            for task, of_task in parts.items()
            if len({id(draws.by_cell.get(picked)) for picked in of_task}) > 1
        ]
        if reasons:
            means = [float(picked.scores.mean()) for picked in members]
            return {"mean": sum(means) / len(means), "interval": f"none: {reasons[0]}"}
        drawn = {task: draws.by_cell.get(of_task[0]) for task, of_task in parts.items()}
        estimates = [_share_examples(of_task, drawn[task]) for task, of_task in parts.items()]
        shares = [(1 / len(of_task), picked) for of_task in parts.values() for picked in of_task]
        cells = [(share / len(parts), picked) for share, picked in shares]
        pooled = count_trainings_once(average(estimates), cells, drawn)
        return _columns(pooled.interval(self._confidence), said)

    def _value(self, picked: Picked, axis: str) -> Any:
        if axis == "checkpoint":
            return picked.cell.checkpoint
        if axis in COLUMN_AXES:
            return picked.cell.task.name if axis == "task" else picked.cell.task.kind
        if axis == RATE:
            assert picked.point is not None
            if self._cells.sweep == (RATE,):
                return picked.cell.rates[picked.point]
            return self._cells.point(picked.cell.recipes[picked.point])
        return picked.cell.columns.get(axis)

    def _framed(self, rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> pd.DataFrame:
        return typed(pd.DataFrame(rows, columns=list(types)), types)


def _estimate(picked: Picked, drawn: Drawn | None) -> Estimate:
    if drawn is not None:
        return over_seeds_and_examples(drawn.of(picked.run_ids))
    return over_seeds(picked.scores)


def _share_examples(of_task: Sequence[Picked], drawn: Drawn | None) -> Estimate:
    """Average the cells of one task; their seeds are their own, their examples are the same."""
    pooled = average([_estimate(picked, drawn) for picked in of_task])
    if len(of_task) == 1 or pooled.examples is None or drawn is None:
        return pooled
    # Cells of different numbers of runs weigh the same, so each is one row of its own.
    shared = over_examples(drawn.means_of([picked.run_ids for picked in of_task]))
    return Estimate(pooled.mean, pooled.seeds, shared.examples)


def _head(picked: Picked) -> dict[str, Any]:
    task = picked.cell.task
    return {
        "checkpoint": picked.cell.checkpoint,
        "task": task.name,
        "kind": task.kind,
        "split": picked.split,
        "metric": picked.metric,
        "n_ok": picked.n_ok,
        "n_planned": picked.n_planned,
    }


def _summed_up(members: Sequence[Picked]) -> dict[str, Any]:
    collapsed = [p.cell.collapsed(p.point) for p in members if p.point is not None]
    return {
        "metric": name_together(picked.metric for picked in members),
        "split": members[0].split,
        "n_ok": sum(picked.n_ok for picked in members),
        "n_planned": sum(picked.n_planned for picked in members),
        "collapsed": sum(collapsed) if collapsed else None,
        "checkpoints": len({picked.cell.checkpoint for picked in members}),
        "tasks": len({picked.cell.task.name for picked in members}),
    }


def _columns(interval: Interval, said: str) -> dict[str, Any]:
    ends = {"low": interval.low, "high": interval.high, "half_width": interval.half_width}
    return {"mean": interval.mean, "interval": said} | ends
