"""Does one checkpoint depend less on the learning rate than another? Rows of measures on tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.errors import StudyError
from harness.results.cells import Cell, Cells
from harness.results.comparing import ALL_TASKS
from harness.results.direction import lower_is_better, name_together
from harness.results.frames import typed
from harness.results.sensitivities import complete_gains, rates_of
from harness.seeding import numpy_generator
from harness.stats import Bounds, compare_regret, compare_sensitivity, compare_shares

TYPES = dict.fromkeys(("a", "b", "task", "metric", "measure"), "str") | dict.fromkeys(
    ("difference", "low", "high"), "float64"
)
Shared = tuple[Cell, Cell, str]
"""Both cells of a task, and the metric."""


def compare_sensitivities(
    cells: Cells,
    a: str,
    b: str,
    *,
    metric: str | None,
    split: str,
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Give a minus b of each measure on each task that both have at the same rates.

    Regret is of all of these tasks together: on one of them it jumps where another rate becomes the
    common one, so that it has no bounds.
    """
    shared = _shared(cells, a, b, metric, split)
    rows: list[dict[str, Any]] = []
    for cell_a, cell_b, name in shared:
        task = cell_a.task.name
        found = compare_sensitivity(
            cell_a.values(split, name),
            cell_b.values(split, name),
            rates_of(cell_a),
            numpy_generator(seed, f"sensitivity/{a}/{b}/{task}"),
            confidence=confidence,
        ) | _shares(cell_a, cell_b, confidence)
        rows += [_row(task, name, measure, bounds) for measure, bounds in found.items()]
    generator = numpy_generator(seed, f"sensitivity/{a}/{b}")
    regret = _regret(shared, split, generator, confidence)
    if regret is not None:
        rows.append(_row(ALL_TASKS, name_together(n for *_, n in shared), "regret", regret))
    frame = pd.DataFrame([{"a": a, "b": b} | row for row in rows], columns=list(TYPES))
    return typed(frame, TYPES)


def _shared(cells: Cells, a: str, b: str, metric: str | None, split: str) -> list[Shared]:
    shown = {(cell.checkpoint, cell.task.name): (cell, n) for cell, n in cells.shown(metric, split)}
    shared = []
    for task in cells.tasks:
        if (a, task) not in shown or (b, task) not in shown:
            continue
        (cell_a, name), (cell_b, _) = shown[a, task], shown[b, task]
        if not np.array_equal(rates_of(cell_a), rates_of(cell_b)):
            raise StudyError(f"{task}: {a} and {b} were not run at the same learning rates")
        shared.append((cell_a, cell_b, name))
    return shared


def _shares(cell_a: Cell, cell_b: Cell, confidence: float) -> dict[str, Bounds]:
    """Compare shares of planned runs; without bounds while some of them have no record."""
    is_done = all(len(cell.records) == len(cell.runs) for cell in (cell_a, cell_b))
    found = {}
    for name in ("diverged", "collapsed"):
        (n_a, of_a), (n_b, of_b) = ((_count(c, name), len(c.runs)) for c in (cell_a, cell_b))
        found[name] = (
            compare_shares(n_a, of_a, n_b, of_b, confidence=confidence)
            if is_done
            else Bounds(n_a / of_a - n_b / of_b, None, None)
        )
    return found


def _count(cell: Cell, name: str) -> int:
    records = cell.records.values()
    if name == "diverged":
        return sum(record["status"] == "diverged" for record in records)
    return sum(bool(record.get("collapsed")) for record in records)


def _regret(
    shared: Sequence[Shared], split: str, generator: np.random.Generator, confidence: float
) -> Bounds | None:
    """Compare mean regrets; None for one task, where there is none, or without a common rate.

    Also where lower is better on some tasks only: their mean has no better end.
    """
    if len(shared) < 2 or lower_is_better(name_together(name for *_, name in shared)) is None:
        return None
    rates = rates_of(shared[0][0])
    if any(not np.array_equal(rates, rates_of(cell)) for cell, *_ in shared):
        return None
    a = [complete_gains(cell, split, name) for cell, _, name in shared]
    b = [complete_gains(cell, split, name) for _, cell, name in shared]
    return compare_regret(a, b, rates, generator, confidence=confidence)


def _row(task: str, metric: str, measure: str, bounds: Bounds) -> dict[str, Any]:
    named = {"task": task, "metric": metric, "measure": measure}
    return named | {"difference": bounds.value, "low": bounds.low, "high": bounds.high}
