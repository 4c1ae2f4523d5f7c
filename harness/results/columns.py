"""What is known of a run beside its scores: columns to group by and to filter by."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.errors import StudyError
from harness.foreign import AnyRun
from harness.spec import Checkpoint

STEP = "step"
STEP_PARTS = ("intermediate_step", "total_steps", "steps")
"""Checkpoint columns that say how far pretraining went, the most exact one first."""


def columns_of(run: AnyRun) -> dict[str, Any]:
    """Give the columns of a run's checkpoint, and `step`: the intermediate one, else the total."""
    columns: dict[str, Any] = dict(run.checkpoint.columns)
    steps = [columns[name] for name in STEP_PARTS if name in columns]
    if steps:
        columns.setdefault(STEP, steps[0])
    return columns


def groups_of(run: AnyRun) -> dict[str, Any]:
    """Give what a run's checkpoint can be grouped by: its columns, attention and pooling."""
    if isinstance(run.checkpoint, Checkpoint):
        reading = {"attention": run.checkpoint.attention, "pooling": run.checkpoint.pooling}
        return reading | columns_of(run)
    return columns_of(run)


def facts_of(run: AnyRun, row: str) -> dict[str, Any]:
    """Give all that a run can be filtered by."""
    recipe = {name: getattr(run.recipe, name) for name in type(run.recipe).model_fields}
    own = {"checkpoint": row, "task": run.task.name, "kind": run.task.kind, "seed": run.seed}
    return groups_of(run) | recipe | own


def split_runs(
    runs: Sequence[AnyRun], rows: Mapping[str, str], conditions: Mapping[str, Any]
) -> tuple[list[AnyRun], list[AnyRun]]:
    """Part the runs that have, in each named column, one of the values given, from all others.

    Values are compared as numbers where both are, else as text: `1e-5` finds 0.00001.

    Raises:
        StudyError: no run has such a column or such values.
    """
    facts = [facts_of(run, rows[run.run_id]) for run in runs]
    known = {name for of_run in facts for name in of_run}
    kept = list(zip(runs, facts, strict=True))
    for name, wanted in conditions.items():
        if name not in known:
            raise StudyError(unknown_column(name, known))
        values = list(wanted) if isinstance(wanted, list | tuple | set) else [wanted]
        left = [
            (run, f) for run, f in kept if any(is_value(f.get(name), value) for value in values)
        ]
        if not left:
            seen = ", ".join(sorted({str(f.get(name)) for _, f in kept}))
            raise StudyError(f"no run has {name}={wanted}; there is {seen}")
        kept = left
    ids = {run.run_id for run, _ in kept}
    return [run for run, _ in kept], [run for run in runs if run.run_id not in ids]


def unknown_column(name: str, known: Iterable[str]) -> str:
    """Say that there is no such column, with what there is."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
    return f"no run of this study has a column {name!r}; {hint}"


def is_value(own: Any, wanted: Any) -> bool:
    """Compare what is known with what is asked: as numbers where both are, else as text."""
    if str(own) == str(wanted):
        return True
    if isinstance(own, bool):
        return str(own).lower() == str(wanted).lower()
    try:
        return abs(float(own) - float(wanted)) <= 1e-9 * abs(float(own))
    except (TypeError, ValueError):
        return False
