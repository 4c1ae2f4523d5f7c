"""What several grids plan together: each run once, and a name for each row of a table.

Runs of one checkpoint and task that differ in a number which no grid sweeps (precision, steps,
batch ...) or in attention or pooling are different rows, told apart by what differs. Tasks of one
name with different cards, or checkpoints of one name with different content, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.errors import StudyError
from harness.foreign import AnyGrid, AnyRun
from harness.spec import Checkpoint

READING = ("attention", "pooling")


def merge_runs(paths: Sequence[Path], grids: Sequence[AnyGrid]) -> list[AnyRun]:
    """List what the grids plan, a run that several plan once.

    Raises:
        StudyError: a task or checkpoint of one name is not the same in all of them.
    """
    for word, parts in (
        ("task", [[(task.name, task.identity) for task in grid.tasks] for grid in grids]),
        ("checkpoint", [[(item.name, _content(item)) for item in g.checkpoints] for g in grids]),
    ):
        seen: dict[str, tuple[str, Path]] = {}
        for path, pairs in zip(paths, parts, strict=True):
            for name, content in pairs:
                known, where = seen.setdefault(name, (content, path))
                if known != content:
                    raise StudyError(
                        f"{word} {name!r} is not the same in {where} and in {path}, so their runs "
                        "can't share a table; read the studies apart, or rename one of the two"
                    )
    runs: dict[str, AnyRun] = {}
    for grid in grids:
        for run in grid.runs():
            runs.setdefault(run.run_id, run)
    return list(runs.values())


def name_rows(runs: Iterable[AnyRun], sweep: Sequence[str]) -> dict[str, str]:
    """Give each run_id the name of its row: the checkpoint, and what sets like-named rows apart."""
    runs = list(runs)
    recipes: dict[str, dict[str, dict[str, Any]]] = {}
    readings: dict[str, dict[str, tuple[Any, ...]]] = {}
    for run in runs:
        of_task = recipes.setdefault(run.task.name, {})
        if run.recipe.identity not in of_task:
            of_task[run.recipe.identity] = run.recipe.model_dump(mode="json")
        of_name = readings.setdefault(run.checkpoint.name, {})
        if run.checkpoint.identity not in of_name:
            of_name[run.checkpoint.identity] = _reading(run)
    fields = _varying(recipes.values(), sweep)
    names: dict[str, str] = {}
    for run in runs:
        recipe = recipes[run.task.name][run.recipe.identity]
        marks = [f"{field}={recipe.get(field)}" for field in fields]
        of_name = readings[run.checkpoint.name]
        own = of_name[run.checkpoint.identity]
        marks += [
            f"{field}={value}"
            for place, (field, value) in enumerate(zip(READING, own, strict=False))
            if len({reading[place] for reading in of_name.values()}) > 1
        ]
        names[run.run_id] = run.checkpoint.name + (f" [{', '.join(marks)}]" if marks else "")
    return names


def _varying(recipes: Iterable[dict[str, dict[str, Any]]], sweep: Sequence[str]) -> tuple[str, ...]:
    """Name the recipe fields that differ within some task though no grid sweeps them."""
    found: dict[str, None] = {}
    for of_task in recipes:
        values = list(of_task.values())
        for field in values[0].keys() - {*sweep, "learning_rate"}:
            if any(other.get(field) != values[0][field] for other in values):
                found[field] = None
    return tuple(sorted(found))


def _content(checkpoint: Any) -> str:
    """Give what a checkpoint is, apart from how it is read."""
    if isinstance(checkpoint, Checkpoint):
        return checkpoint.fingerprint
    return str(checkpoint.identity)


def _reading(run: AnyRun) -> tuple[Any, ...]:
    if isinstance(run.checkpoint, Checkpoint):
        return run.checkpoint.attention, run.checkpoint.pooling
    return ()
