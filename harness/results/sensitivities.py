"""How much a checkpoint's score depends on the learning rate: a row a checkpoint and task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import StudyError
from harness.results.cells import Cell, Cells
from harness.results.comparing import ALL_TASKS
from harness.results.direction import lower_is_better, name_together, orient
from harness.results.frames import typed
from harness.seeding import numpy_generator
from harness.stats import (
    Bounds,
    expected_best,
    regret_of_common_rate,
    sensitivity,
    sensitivity_bounds,
    share,
)

MEASURES = ("range", "deviation", "area")
BUDGETS = (1, 2, 5, 10)
COUNTS = ("n_ok", "n_planned")
HEAD = {"checkpoint": "str", "task": "str", "kind": "str", "metric": "str", "split": "str"}


def sensitivity_frame(
    cells: Cells,
    *,
    metric: str | None,
    split: str,
    budgets: Sequence[int],
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Sum up every cell over its rates, and every checkpoint over its tasks.

    `best` is the best mean at any rate, of a metric where lower is better the smallest: it is not
    chosen on validation, since nothing is reported by it. `regret` is what the task loses by the
    one rate that is best for all tasks, 0 or more for any metric; only rates whose planned runs all
    have a score take part in that choice.
    """
    shown = cells.shown(metric, split)
    regrets = _regrets(shown, split)
    rows = []
    for cell, name in shown:
        scores_PK = cell.values(split, name)
        rates = rates_of(cell)
        row: dict[str, Any] = {
            "checkpoint": cell.checkpoint,
            "task": cell.task.name,
            "kind": cell.task.kind,
            "metric": name,
            "split": split,
        }
        means = _means(scores_PK)
        if np.isfinite(means).any():
            row["best"] = orient(float(np.nanmax(orient(means, name))), name)
        found = sensitivity(means, rates)
        row |= {measure: getattr(found, measure) for measure in MEASURES}
        generator = numpy_generator(seed, f"sensitivity/{cell.checkpoint}/{cell.task.name}")
        bounds = sensitivity_bounds(scores_PK, rates, generator, confidence=confidence)
        row |= _ends(bounds)
        rate, lost = regrets.get((cell.checkpoint, cell.task.name), (None, None))
        row |= {"common_rate": rate, "regret": lost, **_shares(cell)}
        row |= {"n_ok": int(np.isfinite(scores_PK).sum()), "n_planned": len(cell.runs)}
        rows.append(row | _expected(cell, name, split, budgets))
    types = _types(budgets)
    frame = typed(pd.DataFrame(rows, columns=list(types)), types)
    return typed(pd.concat([frame, _over_tasks(frame)], ignore_index=True), types)


def _types(budgets: Sequence[int]) -> dict[str, str]:
    numbers = ["best"]
    for measure in MEASURES:
        numbers += [measure, f"{measure}_low", f"{measure}_high"]
    numbers += ["common_rate", "regret", "diverged", "collapsed"]
    expected = [f"best_of_{budget}" for budget in budgets]
    counts = dict.fromkeys(COUNTS, "int64")
    return HEAD | dict.fromkeys(numbers, "float64") | counts | dict.fromkeys(expected, "float64")


def rates_of(cell: Cell) -> NDArray[np.float64]:
    """Give the rates of a cell's points, all different and known; StudyError for others."""
    if not np.isfinite(cell.rates).all() or len(set(cell.rates)) < len(cell.rates):
        raise StudyError(
            f"{cell.checkpoint}, {cell.task.name}: points differ in more than the learning rate, "
            "or it is not known; keep one value of the other numbers first (--where NAME=VALUE)"
        )
    return cell.rates


def _means(scores_PK: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average over the good seeds of each rate, NaN where there is none."""
    is_good = np.isfinite(scores_PK)
    counts = is_good.sum(axis=1)
    sums = np.where(is_good, scores_PK, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def complete_gains(cell: Cell, split: str, metric: str) -> NDArray[np.float64]:
    """Give gains (points, seeds), NaN at all of a point where a planned run has no score."""
    gains_PK = cell.gains(split, metric)
    is_whole_P1 = (np.isfinite(gains_PK) | ~cell.is_planned).all(axis=1, keepdims=True)
    return np.where(is_whole_P1, gains_PK, np.nan)


def _regrets(
    shown: Sequence[tuple[Cell, str]], split: str
) -> dict[tuple[str, str], tuple[float, float]]:
    by_checkpoint: dict[str, list[tuple[Cell, str]]] = {}
    for cell, name in shown:
        by_checkpoint.setdefault(cell.checkpoint, []).append((cell, name))
    found = {}
    for checkpoint, of_checkpoint in by_checkpoint.items():
        rates = rates_of(of_checkpoint[0][0])
        if any(not np.array_equal(rates, cell.rates) for cell, _ in of_checkpoint):
            continue
        means = np.stack([_means(complete_gains(cell, split, n)) for cell, n in of_checkpoint])
        regret = regret_of_common_rate(means, rates)
        if regret is not None:
            for (cell, _), lost in zip(of_checkpoint, regret.regret_T, strict=True):
                found[checkpoint, cell.task.name] = regret.rate, float(lost)
    return found


def _ends(bounds: Mapping[str, Bounds]) -> dict[str, float | None]:
    ends: dict[str, float | None] = {}
    for measure, found in bounds.items():
        ends |= {f"{measure}_low": found.low, f"{measure}_high": found.high}
    return ends


def _shares(cell: Cell) -> dict[str, float | None]:
    records = list(cell.records.values())
    return {
        "diverged": share([r["status"] == "diverged" for r in records], len(cell.runs)),
        "collapsed": share([bool(r.get("collapsed")) for r in records], len(cell.runs)),
    }


def _expected(cell: Cell, name: str, split: str, budgets: Sequence[int]) -> dict[str, float]:
    # By rate, since of equals the smaller one wins.
    by_rate = np.argsort(cell.rates, kind="stable")
    validation = cell.gains("validation", cell.task.main_metric)[by_rate].ravel()
    reported = cell.values(split, name)[by_rate].ravel()
    is_good = np.isfinite(validation) & np.isfinite(reported)
    if not is_good.any():
        return {}
    found = expected_best(validation[is_good], budgets, reported[is_good])
    return {f"best_of_{m}": value for m, value in zip(budgets, found, strict=True)}


def _over_tasks(frame: pd.DataFrame) -> pd.DataFrame:
    """Average the columns of each checkpoint over its tasks, where it has several; no bounds.

    Not where lower is better on some of them only: their mean has no better end.
    """
    several = frame.groupby("checkpoint", sort=False).filter(
        lambda rows: len(rows) > 1 and lower_is_better(name_together(rows["metric"])) is not None
    )
    numbers = [
        name
        for name in frame.columns
        if name not in {*HEAD, *COUNTS} and not name.endswith(("_low", "_high"))
    ]
    if several.empty:
        return several
    rows = []
    for checkpoint, of_checkpoint in several.groupby("checkpoint", sort=False):
        row: dict[str, Any] = {"checkpoint": checkpoint, "task": ALL_TASKS}
        row["metric"] = name_together(of_checkpoint["metric"])
        row["split"] = of_checkpoint["split"].iloc[0]
        row |= {name: int(of_checkpoint[name].sum()) for name in COUNTS}
        rows.append(row | of_checkpoint[numbers].mean(skipna=False).to_dict())
    return pd.DataFrame(rows, columns=list(frame.columns))
