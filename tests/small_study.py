"""A study small enough to hold in the head: two tasks, two checkpoints, two rates, three seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from harness.grid import FrozenGrid, write_frozen
from harness.ledger import LedgerWriter
from harness.spec import (
    PROTOCOL,
    Checkpoint,
    Data,
    Recipe,
    Run,
    SequenceClassification,
    SequenceRegression,
    TableFiles,
)

FILES = Data(native=TableFiles(format="glue_tsv", train="train.tsv", test="dev.tsv"))
SST2 = SequenceClassification(
    name="sst2",
    kind="sequence_classification",
    data=FILES,
    text=("sentence",),
    labels=("negative", "positive"),
    metrics=("accuracy", "f1"),
)
STSB = SequenceRegression(
    name="stsb",
    kind="sequence_regression",
    data=FILES,
    text=("sentence1", "sentence2"),
    metrics=("spearman",),
)


def checkpoint_named(name: str, fingerprint: str) -> Checkpoint:
    """Make a checkpoint; nothing of it is on disk."""
    return Checkpoint(name=name, path=f"ckpts/{name}", fingerprint=fingerprint)


CHECKPOINTS = (checkpoint_named("mlm_40", "a" * 16), checkpoint_named("clm", "b" * 16))


def small_grid(**changes: Any) -> FrozenGrid:
    """Make the grid; `rates` and `seeds` may be given, and every field of FrozenGrid."""
    rates = changes.pop("rates", (1e-5, 1e-4))
    tasks = changes.get("tasks", (SST2, STSB))
    recipes = tuple(Recipe(learning_rate=rate, max_steps=10) for rate in rates)
    fields = {
        "name": "small",
        "tasks": tasks,
        "checkpoints": CHECKPOINTS,
        "recipes": {task.name: recipes for task in tasks},
        "seeds": (0, 1, 2),
        "sweep": ("learning_rate",),
    }
    return FrozenGrid(**(fields | changes))


def record_of(run: Run, validation: float, test: float, **changes: Any) -> dict[str, Any]:
    """Make the record of a good run with these main scores; `changes` replace its keys."""
    metric = run.task.main_metric
    return {
        "run_id": run.run_id,
        "status": "ok",
        "task": run.task.name,
        "kind": run.task.kind,
        "checkpoint": run.checkpoint.name,
        "fingerprint": run.checkpoint.fingerprint,
        "attention": run.checkpoint.attention,
        "pooling": run.checkpoint.pooling,
        "sees_future": True,
        "recipe": run.recipe.model_dump(mode="json"),
        "seed": run.seed,
        "protocol": PROTOCOL,
        "scores": {"validation": {metric: validation}, "test": {metric: test}},
        "collapsed": False,
        "main_metric": metric,
        "splits": {"train": "1" * 16, "validation": "2" * 16, "test": "3" * 16},
        "data_source": "native",
        "counts": {"train": {"features": 64, "truncated": 1}},
        "steps": 10,
        "seconds": {"train": 1.5, "predict": 0.5, "total": 2.25},
        "threads": 1,
        "device": "cpu",
        "precision": run.recipe.precision,
        "versions": {"harness": "0.1.0"},
        "host": "here",
        "writer": "w",
        "started": "2025-01-02T03:04:05+00:00",
        "finished": "2025-01-02T03:04:07.250000+00:00",
        **changes,
    }


def diverged(run: Run, step: int) -> dict[str, Any]:
    """Make the record of a run whose loss was no longer finite."""
    error = {"type": "DivergedError", "message": "the loss is nan", "step": step}
    return record_of(run, 0, 0, status="diverged", scores={}, collapsed=None, error=error)


def failed(run: Run, message: str) -> dict[str, Any]:
    """Make the record of a run that broke."""
    error = {"type": "RunError", "message": message, "traceback": "..."}
    return record_of(run, 0, 0, status="failed", scores={}, collapsed=None, error=error)


def write_study(folder: Path, grid: FrozenGrid, records: Iterable[dict[str, Any]] = ()) -> Path:
    """Write a study as a run would."""
    write_frozen(folder, grid)
    with LedgerWriter(folder) as ledger:
        for record in records:
            ledger.append(record)
    return folder


def records_of(
    grid: FrozenGrid, make: Callable[[Run], dict[str, Any] | None] | None = None
) -> list[dict[str, Any]]:
    """Make a record of every planned run: 0.8 + seed / 100, or what `make` gives (None: none)."""
    made = [
        make(run) if make else record_of(run, 0.8 + run.seed / 100, 0.8 + run.seed / 100)
        for run in grid.runs()
    ]
    return [record for record in made if record]
