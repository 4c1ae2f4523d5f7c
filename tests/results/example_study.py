"""A study with stored predictions: what each of eight examples was answered, run by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from harness.predictions import write_predictions
from harness.results import Study, load_study
from harness.spec import Checkpoint
from tests.small_study import CHECKPOINTS, SST2, record_of, small_grid, write_study

SEEDS = (0, 1, 2)
Answers = Mapping[tuple[str, int], list[int]]
"""(checkpoint, seed) -> 1 for each example that was answered right."""


def study_of(
    folder: Path,
    answers: Answers,
    ids: Mapping[int, str] | None = None,
    rates: Sequence[float] = (1e-5,),
    checkpoints: Sequence[Checkpoint] = CHECKPOINTS,
) -> Study:
    """Write and read a study of sst2; `ids` gives a seed other example ids.

    The answers are those at the first rate; each further one gets eight examples more wrong.
    """
    grid = small_grid(tasks=(SST2,), rates=rates, seeds=SEEDS, checkpoints=tuple(checkpoints))
    runs = [run for run in grid.runs() if (run.checkpoint.name, run.seed) in answers]
    records = []
    for run in runs:
        right = np.array(answers[run.checkpoint.name, run.seed])
        right[: 8 * rates.index(run.recipe.learning_rate)] = 0
        records.append(record_of(run, float(right.mean()), float(right.mean())))
        prefix = (ids or {}).get(run.seed, "")
        frames = [
            pd.DataFrame(
                {
                    "split": split,
                    "id": [f"{prefix}{number}" for number in range(len(right))],
                    "gold": 1,
                    "prediction": right,
                    "logits": [[0.0, 1.0]] * len(right),
                }
            )
            for split in ("validation", "test")
        ]
        write_predictions(folder, run.run_id, pd.concat(frames, ignore_index=True))
    return load_study(write_study(folder, grid, records))


GOOD = [1, 1, 1, 1, 1, 1, 1, 0] * 10
FAIR = [1, 1, 1, 1, 0, 0, 1, 0] * 10
BETTER = {
    ("mlm_40", 0): GOOD,
    ("mlm_40", 1): [*GOOD[:-1], 1],
    ("mlm_40", 2): [*GOOD[:-8], *FAIR[:8]],
    ("clm", 0): FAIR,
    ("clm", 1): [*FAIR[:-1], 1],
    ("clm", 2): [*FAIR[:-8], *GOOD[:8]],
}
