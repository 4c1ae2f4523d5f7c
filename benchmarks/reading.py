"""How long it takes to read a study of 18,000 runs and to make claims of it.

    python -m benchmarks.reading [FOLDER]

Makes a study of 50 checkpoints x 12 tasks x 6 rates x 5 seeds, 1,000 test examples a run, and
prints seconds and peak memory of: load and table; 10,000 replicates of seeds and examples for every
cell; 50 comparisons. The predictions are links to a few files, read as often as if each were its
own.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from harness.grid import FrozenGrid, write_frozen
from harness.predictions import predictions_path, write_predictions
from harness.results import load_study
from harness.spec import Checkpoint, Data, Recipe, SequenceClassification, TableFiles

CHECKPOINTS, TASKS, SEEDS, EXAMPLES, VALIDATION, FILES = 50, 12, 5, 1_000, 200, 40
RATES = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4)
COMPARISONS = 50


def make_study(folder: Path) -> None:
    generator = np.random.default_rng(0)
    files = Data(native=TableFiles(format="glue_tsv", train="train.tsv", test="dev.tsv"))
    tasks = tuple(
        SequenceClassification(
            name=f"task{number}",
            kind="sequence_classification",
            data=files,
            text=("sentence",),
            labels=("no", "yes"),
            metrics=("accuracy",),
        )
        for number in range(TASKS)
    )
    checkpoints = tuple(
        Checkpoint(name=f"c{number}", path="-", fingerprint=f"{number:016x}")
        for number in range(CHECKPOINTS)
    )
    recipes = tuple(Recipe(learning_rate=rate) for rate in RATES)
    grid = FrozenGrid(
        name="reading",
        tasks=tasks,
        checkpoints=checkpoints,
        recipes={task.name: recipes for task in tasks},
        seeds=tuple(range(SEEDS)),
        sweep=("learning_rate",),
    )
    write_frozen(folder, grid)
    kept = [write_pattern(folder, f"pattern{number}", generator) for number in range(FILES)]
    lines = []
    for number, run in enumerate(grid.runs()):
        path, scores = kept[number * 7 % FILES]
        target = predictions_path(folder, run.run_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, target)
        record = {
            "run_id": run.run_id,
            "status": "ok",
            "task": run.task.name,
            "kind": run.task.kind,
            "checkpoint": run.checkpoint.name,
            "attention": "native",
            "pooling": "mean",
            "recipe": run.recipe.model_dump(mode="json"),
            "seed": run.seed,
            "protocol": 1,
            "precision": "fp32",
            "scores": scores,
            "main_metric": "accuracy",
            "splits": {"train": "1" * 16, "validation": "2" * 16, "test": "3" * 16},
            "seconds": {"train": 1.0, "total": 2.0},
            "counts": {"train": {"features": 64}},
            "finished": "2025-01-01T00:00:00+00:00",
        }
        lines.append(json.dumps(record) + "\n")
    (folder / "ledger").mkdir()
    (folder / "ledger" / "w.jsonl").write_text("".join(lines))


def write_pattern(
    folder: Path, name: str, generator: np.random.Generator
) -> tuple[Path, dict[str, dict[str, float]]]:
    size = VALIDATION + EXAMPLES
    gold = np.random.default_rng(1).integers(0, 2, size)
    is_right = generator.random(size) < generator.uniform(0.8, 0.9)
    logits = generator.normal(size=(size, 2)).astype(np.float32)
    split = np.array(["validation"] * VALIDATION + ["test"] * EXAMPLES)
    frame = pd.DataFrame(
        {
            "split": split,
            "id": [f"dev-{number}" for number in range(size)],
            "gold": gold,
            "prediction": np.where(is_right, gold, 1 - gold),
            "logits": list(logits),
        }
    )
    write_predictions(folder, name, frame)
    scores = {
        part: {"accuracy": float(is_right[split == part].mean())} for part in ("validation", "test")
    }
    return predictions_path(folder, name), scores


@contextmanager
def measured(name: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{name:<55}{time.perf_counter() - wall:>8.2f} s wall"
        f"{time.process_time() - cpu:>8.2f} s cpu{peak:>8.2f} GB peak",
        flush=True,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch) / "study"
        if not folder.exists():
            make_study(folder)
        with measured("load and table"):
            study = load_study(folder)
            table = study.table()
        assert len(table) == CHECKPOINTS * TASKS
        with measured("records and scores as frames"):
            assert len(study.records) * 2 == len(study.scores) == 36_000
        with measured("seeds and examples, 10,000 replicates, every cell"):
            both = study.table(interval="both")
        assert both["half_width"].notna().all()
        with measured(f"{COMPARISONS} comparisons of two checkpoints on 12 tasks"):
            for number in range(COMPARISONS):
                study.compare(f"c{number}", f"c{(number + 1) % CHECKPOINTS}")


if __name__ == "__main__":
    main()
