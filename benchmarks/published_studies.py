"""Makes the small studies that the notebooks read: one simulated, one of a paper's averages.

    python -m benchmarks.published_studies

`simulated`: nobody trained anything. Checkpoints of two pretraining objectives, three of each that
differ in their pretraining seed, and the intermediate steps of the first. Each has an ability that
grows with its steps and sags at large learning rates; each test example has a difficulty, each run
a lucky or unlucky seed. `paper_averages`: the means that arXiv 2507.00994 prints, of three tasks
each, without seeds or intervals; its `source.csv` is what is imported.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.foreign import ForeignCheckpoint, ForeignGrid, ForeignRecipe, ForeignRun, ForeignTask
from harness.imports import import_table
from harness.imports.writing import Result, StudyWriter

PUBLISHED = Path(__file__).parents[1] / "results" / "published"
WRITTEN = 1_735_689_600.0
"""The time that the records of the simulation bear: 2025-01-01."""

OBJECTIVES = ("clm", "mlm")
PRETRAINING_SEEDS, STEPS, LAST = 3, (250, 500, 1000, 2000), 4000
RATES, SEEDS, EXAMPLES = (1e-5, 5e-5, 2e-4, 1e-3), 4, {"validation": 100, "test": 150}
TASKS = (
    ForeignTask(name="reviews", kind="sequence_classification", metrics=("accuracy",)),
    ForeignTask(name="questions", kind="question_answering", metrics=("exact_match",)),
)


def main() -> None:
    make_simulated(PUBLISHED / "simulated")
    averages = PUBLISHED / "paper_averages"
    for part in (averages / "grid.json", *averages.glob("ledger/*")):
        part.unlink(missing_ok=True)
    import_table(averages / "source.csv", averages)
    rename_ledger(averages)


def make_simulated(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    grid = ForeignGrid(
        foreign="simulation",
        name="simulated",
        tasks=TASKS,
        checkpoints=tuple(checkpoints()),
        recipes={
            task.name: tuple(ForeignRecipe(learning_rate=rate) for rate in RATES) for task in TASKS
        },
        seeds=tuple(range(SEEDS)),
        sweep=("learning_rate",),
    )
    generator = np.random.default_rng(7)
    difficulty = {
        (task.name, split): generator.normal(0, 1.5, size)
        for task in TASKS
        for split, size in EXAMPLES.items()
    }
    luck = {checkpoint.name: generator.normal(0, 0.15) for checkpoint in grid.checkpoints}
    by_cell: dict[tuple[str, str], list[Result]] = {}
    for run in grid.runs():
        cell = (run.checkpoint.name, run.task.name)
        result = simulate(run, luck[run.checkpoint.name], difficulty, generator)
        by_cell.setdefault(cell, []).append(result)
    writer = StudyWriter(folder)
    for results in by_cell.values():
        writer.add_cell(results)
    writer.finish(grid)
    rename_ledger(folder)


def checkpoints() -> Iterator[ForeignCheckpoint]:
    for objective in OBJECTIVES:
        for number in range(PRETRAINING_SEEDS):
            columns = {"objective": objective, "pretraining_seed": number}
            for step in (*(STEPS if number == 0 else ()), LAST):
                yield ForeignCheckpoint(
                    name=f"{objective}-{number}-step{step}", columns=columns | {"step": step}
                )


def simulate(
    run: ForeignRun,
    luck: float,
    difficulty: dict[tuple[str, str], np.ndarray],
    generator: np.random.Generator,
) -> Result:
    """Answer every example by a coin whose odds are ability minus difficulty."""
    objective, step = run.checkpoint.columns["objective"], run.checkpoint.columns["step"]
    half_way, height = {"clm": (300, 1.3), "mlm": (900, 2.2)}[str(objective)]
    ability = height * step / (step + half_way) + luck + generator.normal(0, 0.12)
    best_rate, width = {"clm": (math.log(5e-5), 1.2), "mlm": (math.log(8e-5), 2.0)}[str(objective)]
    ability -= ((math.log(run.recipe.learning_rate or 0) - best_rate) / width) ** 2 / 2
    ability -= 0.5 * (run.task.name == "questions")
    scores, examples = {}, {}
    for split, size in EXAMPLES.items():
        odds = 1 / (1 + np.exp(difficulty[run.task.name, split] - ability))
        right = (generator.random(size) < odds).astype(np.float64)
        scores[split] = {run.task.main_metric: float(right.mean())}
        examples[split] = IDS[split], right
    return Result(run, WRITTEN, scores, examples)


IDS = {split: tuple(f"{split}-{n}" for n in range(size)) for split, size in EXAMPLES.items()}


def rename_ledger(folder: Path) -> None:
    """Call the only ledger file by what it is, and not by the machine that wrote it."""
    (ledger,) = (folder / "ledger").iterdir()
    text = ledger.read_text().replace(f'"writer":"{ledger.stem}"', '"writer":"imported"')
    (folder / "ledger" / "imported.jsonl").write_text(text)
    if ledger.name != "imported.jsonl":
        ledger.unlink()


if __name__ == "__main__":
    main()
