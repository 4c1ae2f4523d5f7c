"""How long it takes to import EncodEval's results, and to compute the data of the paper's figures.

    python -m benchmarks.encodeval

Generates a tree of 50 checkpoints x 13 datasets x 6 rates x 5 seeds = 19,500 result files, 1,017 of
them taken out, and prints seconds and peak memory of each step. The scores are random.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.reading import measured
from harness.imports import import_encodeval
from harness.results import load_study
from tests.encodeval_tree import cells, paper_names, write_tree

HOLES = 1_017
EXAMPLES = 60


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        tree, folder = Path(scratch) / "tree", Path(scratch) / "study"
        planned = cells(paper_names())
        holes = set(np.random.default_rng(1).choice(len(planned), HOLES, replace=False).tolist())
        write_tree(tree, [cell for at, cell in enumerate(planned) if at not in holes], EXAMPLES)
        with measured("import"):
            done = import_encodeval(tree, folder)
        print(f"{done.good:,} runs, {done.broken} broken, {done.missing:,} missing")
        with measured("load, and name the missing runs"):
            study = load_study(folder)
            missing = study.missing
        example = missing.iloc[0]
        print(
            f"{len(missing):,} missing, such as {example['checkpoint']} on {example['task']}, "
            f"rate {example['learning_rate']:g}, seed {example['seed']}"
        )
        single = study.where(step=42_000).without(objective_2="mlm")
        with measured("table of 50 checkpoints x 13 datasets"):
            table = study.table()
        print(f"{int(table['mean'].isna().sum())} of {len(table)} cells absent")
        with measured("figure size: by size, objective, kind"):
            single.table(by=["size", "objective", "kind"])
        with measured("figure mask ratio: by size, mask_ratio, kind"):
            single.where(objective="mlm").table(by=["size", "mask_ratio", "kind"])
        with measured("figure steps: curves over pretraining steps"):
            study.dynamics()
        with measured("figure learning rate: by rate, objective, kind"):
            study.table(by=["learning_rate", "objective", "kind"])
        with measured("figure split: by steps of CLM and total steps, kind"):
            study.where(size="610m").table(by=["steps", "total_steps", "objective_2", "kind"])
        with measured("figures warm start and continued: by name, kind"):
            study.where(objective_2="mlm").table(by=["checkpoint", "kind"])
        with measured("sensitivity to the rate of every cell"):
            study.sensitivity()


if __name__ == "__main__":
    main()
