"""What the runs of a plan cost: tokens, arithmetic, hours and disk, before any of them starts.

Arithmetic: 6 operations a parameter and training token, 2 a parameter and evaluated token (Kaplan
et al. 2020, "Scaling Laws for Neural Language Models", section 2.1). All parameters count, so
checkpoints with large embedding tables cost less than this says.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from harness.spec import Run

EFFICIENCY = 0.4
"""Part of the rate of a large matrix product that fine-tuning on short texts reaches (measured)."""

RECORD_BYTES = 3_000
PREDICTION_BYTES = {
    "sequence_classification": 30,
    "sequence_regression": 25,
    "token_classification": 60,
    "question_answering": 80,
    "retrieval": 1_500,
}
"""Bytes on disk of one predicted example, compressed; for retrieval, of a query at depth 100."""

History = Mapping[tuple[str, str], "Pace"]
"""(checkpoint fingerprint, task name) -> how fast earlier runs were."""


@dataclass(frozen=True)
class TaskSize:
    """Examples of a task's splits and tokens an example.

    For retrieval: training pairs, and queries plus documents of a split; `queries` are those of
    both evaluated splits, which get predictions.
    """

    train_examples: int
    validation_examples: int
    test_examples: int
    mean_tokens: float
    queries: int | None = None


@dataclass(frozen=True)
class Pace:
    """Mean seconds of a training step, and of everything else in a run."""

    step: float
    rest: float


@dataclass(frozen=True)
class Cost:
    """Totals over the runs of a plan; None where too little is known."""

    train_tokens: int
    evaluation_tokens: int
    flops: float | None
    hours: float | None
    disk_bytes: int


def estimate_cost(
    runs: Iterable[Run],
    sizes: Mapping[str, TaskSize],
    *,
    workers: int = 1,
    flops_per_second: float | None = None,
    history: History | None = None,
) -> Cost:
    """Add up what runs cost; hours are wall-clock hours of that many workers.

    Seconds come from the pace of earlier runs of the same checkpoint and task where there are any,
    else from the rate of one worker's matrix products.
    """
    train_tokens = evaluation_tokens = disk_bytes = 0
    flops: float | None = 0.0
    seconds: float | None = 0.0
    for run in runs:
        size = sizes[run.task.name]
        train, evaluation = count_tokens(run, size)
        train_tokens += train
        evaluation_tokens += evaluation
        disk_bytes += RECORD_BYTES + _prediction_bytes(run, size)
        run_flops = count_flops(run, size)
        flops = None if flops is None or run_flops is None else flops + run_flops
        spent = _seconds(run, size, run_flops, flops_per_second, history or {})
        seconds = None if seconds is None or spent is None else seconds + spent
    hours = None if seconds is None else seconds / workers / 3600
    return Cost(train_tokens, evaluation_tokens, flops, hours, disk_bytes)


def count_tokens(run: Run, size: TaskSize) -> tuple[int, int]:
    """Count the tokens that a run trains on and those that it predicts on."""
    steps = run.recipe.total_steps(size.train_examples)
    evaluated = size.validation_examples + size.test_examples
    return round(steps * run.recipe.batch_size * size.mean_tokens), round(
        evaluated * size.mean_tokens
    )


def count_flops(run: Run, size: TaskSize) -> float | None:
    """Count the floating-point operations of a run; None where the checkpoint's size is unknown."""
    if run.checkpoint.parameters is None:
        return None
    train, evaluation = count_tokens(run, size)
    return run.checkpoint.parameters * (6.0 * train + 2.0 * evaluation)


def read_history(records: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Pace]:
    """Learn the pace of each checkpoint on each task from the good records of a ledger."""
    paces: defaultdict[tuple[str, str], list[Pace]] = defaultdict(list)
    for record in records:
        steps, seconds = record.get("steps"), record.get("seconds") or {}
        if record["status"] == "ok" and steps and "train" in seconds and "total" in seconds:
            pace = Pace(seconds["train"] / steps, seconds["total"] - seconds["train"])
            paces[record["fingerprint"], record["task"]].append(pace)
    return {
        key: Pace(fmean(pace.step for pace in found), fmean(pace.rest for pace in found))
        for key, found in paces.items()
    }


def measure_flops_per_second(device: str, threads: int) -> float:
    """Measure how many operations a second a large fp32 matrix product does; under a second.

    On a CPU NumPy's product stands for torch's, which is as fast: importing torch takes seconds.
    """
    if device == "cpu":
        with threadpool_limits(threads):
            return _best_rate(np.ones((1024, 1024), dtype=np.float32))
    import torch

    return _best_rate(torch.ones(8192, 8192, device=device))


def _best_rate(matrix: Any) -> float:
    """Give operations a second of the fastest of a few products of a square matrix."""
    best = 0.0
    for _ in range(5):
        start = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # reading a number waits for the device
        best = max(best, 2.0 * len(matrix) ** 3 / (time.perf_counter() - start))
    return best


def _seconds(
    run: Run, size: TaskSize, flops: float | None, rate: float | None, history: History
) -> float | None:
    pace = history.get((run.checkpoint.fingerprint, run.task.name))
    if pace is not None:
        return pace.step * run.recipe.total_steps(size.train_examples) + pace.rest
    if flops is None or rate is None:
        return None
    return flops / (rate * EFFICIENCY)


def _prediction_bytes(run: Run, size: TaskSize) -> int:
    predicted = size.validation_examples + size.test_examples
    if run.task.kind == "retrieval" and size.queries is not None:
        predicted = size.queries
    return predicted * PREDICTION_BYTES[run.task.kind]
