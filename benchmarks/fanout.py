"""What Ray Tune and the ledger cost a run: many runs that do nothing, through the whole fan-out.

    python benchmarks/fanout.py [--runs 13680] [--workers 2]

Prints milliseconds a run between the first and the last record, the driver's growth in memory, and
the files written. Aim: below 10 ms a run and flat memory.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.execute import Workplace
from harness.execute.record import describe_run, now
from harness.grid import FrozenGrid
from harness.launch.plan import make_plan
from harness.launch.tune import run_tune
from harness.ledger import LedgerWriter, latest_records, read_ledger
from harness.spec import Checkpoint, Data, Recipe, Run, SequenceClassification, TableFiles

RATES, SEEDS, TASKS = 6, 5, 12


def make_grid(runs: int) -> FrozenGrid:
    """Make a grid of about that many runs: 12 tasks, 6 rates, 5 seeds."""
    files = TableFiles(format="csv", train="train.csv", test="test.csv")
    tasks = tuple(
        SequenceClassification(
            name=f"task{number}",
            kind="sequence_classification",
            data=Data(native=files),
            text="text",
            labels=("no", "yes"),
            metrics=("accuracy",),
        )
        for number in range(TASKS)
    )
    checkpoints = tuple(
        Checkpoint(name=f"checkpoint{number}", path="nowhere", fingerprint=f"{number:016x}")
        for number in range(max(1, round(runs / (RATES * SEEDS * TASKS))))
    )
    recipes = tuple(Recipe(learning_rate=rate * 1e-5) for rate in range(1, RATES + 1))
    return FrozenGrid(
        name="fanout",
        tasks=tasks,
        checkpoints=checkpoints,
        recipes={task.name: recipes for task in tasks},
        seeds=tuple(range(SEEDS)),
        sweep=("learning_rate",),
    )


def make_idle_worker() -> Any:
    """Make a class of executors that only append a record."""

    class Idle:
        def __init__(self, workplace: Workplace, before_commit: Callable[[], None]) -> None:
            self.workplace, self.before_commit = workplace, before_commit
            self.ledger = LedgerWriter(workplace.study)

        def execute(self, run: Run) -> Mapping[str, Any]:
            started = now()
            self.before_commit()
            times = {"status": "ok", "started": started, "finished": now()}
            return self.ledger.append(describe_run(run, self.workplace) | times)

    return Idle


def megabytes() -> float:
    """Read the memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=13_680)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder)
        begin = time.perf_counter()
        plan = make_plan(make_grid(options.runs), study, workers=options.workers)
        planned = time.perf_counter()
        arrivals: list[tuple[float, float]] = []
        outcome = run_tune(
            plan,
            Workplace(study, None, study),
            workers=options.workers,
            on_record=lambda _: arrivals.append((time.perf_counter(), megabytes())),
            make_worker=make_idle_worker(),
        )
        ended = time.perf_counter()
        records = latest_records(read_ledger(study))
        read = time.perf_counter()
        files = sum(path.is_file() for path in study.rglob("*"))
    (first, before), (last, after) = arrivals[0], arrivals[-1]
    print(f"{outcome.ok} runs in {len(plan.shards)} shards, {options.workers} workers")
    print(f"plan                {planned - begin:8.2f} s")
    print(f"start and end of Ray{ended - planned - (last - first):8.2f} s")
    print(f"a run               {1000 * (last - first) / len(records):8.2f} ms")
    print(f"whole, a run        {1000 * (ended - begin) / len(records):8.2f} ms")
    print(f"memory of the driver{before:8.0f} -> {after:.0f} MB")
    print(f"files in the study  {files:8d}")
    print(f"reading the ledger  {read - ended:8.2f} s")


if __name__ == "__main__":
    main()
