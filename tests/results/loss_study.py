"""Studies whose scores are losses: lower is better, and accuracy tells nothing apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.imports import import_table
from harness.results import Study, load_study
from harness.spec import Checkpoint, Run
from tests.small_study import SST2, record_of, records_of, small_grid, write_study

SEEDS = (0, 1, 2)


def study_of(folder: Path, loss: Callable[[Run], float], **changes: Any) -> Study:
    """Write and read a study whose runs have the loss that is given for seed 1, 0.01 apart."""
    grid = small_grid(**{"tasks": (SST2,), "rates": (1e-5,), "seeds": SEEDS} | changes)

    def make(run: Run) -> dict[str, Any]:
        own = {"accuracy": 0.8, "log_loss": loss(run) + (run.seed - 1) / 100}
        return record_of(run, 0.8, 0.8, scores={"validation": own, "test": own})

    return load_study(write_study(folder, grid, records_of(grid, make)))


def study_of_checkpoints(folder: Path, losses: dict[str, float], **changes: Any) -> Study:
    """Write and read a study of one rate with checkpoints of these losses."""
    checkpoints = tuple(
        Checkpoint(name=name, path=name, fingerprint=f"{place:016x}", columns={"family": "loss"})
        for place, name in enumerate(losses)
    )
    return study_of(
        folder, lambda run: losses[run.checkpoint.name], checkpoints=checkpoints, **changes
    )


def imported(folder: Path, text: str, **asked: Any) -> Study:
    """Import a CSV file of this text."""
    file = folder / "scores.csv"
    file.write_text(text, encoding="utf-8")
    done = import_table(file, folder / "study", kind="sequence_classification", **asked)
    return load_study(done.study)


BOTH_WAYS = "".join(
    f"{name},{task},{metric},1e-5,{seed},{score + seed / 100}\n"
    for task, metric, scores in (("sst2", "accuracy", (0.9, 0.8)), ("cola", "log_loss", (0.2, 0.4)))
    for name, score in zip(("bert", "gpt"), scores, strict=True)
    for seed in SEEDS
)
"""Rows of two tasks: bert is better on both, by a higher accuracy and by a lower loss."""


def both_ways(folder: Path) -> Study:
    """Import two tasks, one with accuracy and one with a loss."""
    return imported(folder, f"checkpoint,task,metric,learning_rate,seed,score\n{BOTH_WAYS}")
