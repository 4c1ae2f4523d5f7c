"""Speed and memory of the bootstrap on a study of the protocol's size, arrays only.

    python benchmarks/bootstrap.py [--replicates 10000] [--threads 2]

12 tasks x 50 checkpoints x 6 rates x 5 seeds with 1,000 examples each are 18,000 runs: draws the
examples of every run, gives the interval over seeds and examples of all 3,600 cells (every rate,
chosen or not), and compares 50 pairs of checkpoints on every task.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from threadpoolctl import threadpool_limits

from harness import stats

TASKS, CHECKPOINTS, RATES, SEEDS, EXAMPLES = 12, 50, 6, 5, 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    seconds = dict.fromkeys(("draw examples", "3,600 cells", "600 comparisons"), 0.0)
    with threadpool_limits(given.threads):
        for _ in range(TASKS):
            for name, spent in one_task(given.replicates, rng).items():
                seconds[name] += spent
    for name, spent in seconds.items():
        print(f"{name:16} {spent:6.1f} s")
    # ru_maxrss is in KiB on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{'in all':16} {sum(seconds.values()):6.1f} s, peak memory {peak:.2f} GiB")


def one_task(replicates: int, rng: np.random.Generator) -> dict[str, float]:
    skill = rng.uniform(0.7, 0.9, (CHECKPOINTS * RATES * SEEDS, 1))
    answers = (rng.random((len(skill), EXAMPLES)) < skill).astype(np.float64)

    start = time.perf_counter()
    runs = stats.resample_examples(answers, rng, replicates=replicates)
    drawn = time.perf_counter()
    cells = [runs.rows(range(first, first + SEEDS)) for first in range(0, len(skill), SEEDS)]
    for cell in cells:
        stats.over_seeds_and_examples(cell).interval()
    reported = time.perf_counter()
    for first in range(50):
        other = (first + 1) % CHECKPOINTS
        stats.compare_runs(cells[first * RATES], cells[other * RATES]).p_value()
    compared = time.perf_counter()
    return {
        "draw examples": drawn - start,
        "3,600 cells": reported - drawn,
        "600 comparisons": compared - reported,
    }


if __name__ == "__main__":
    main()
