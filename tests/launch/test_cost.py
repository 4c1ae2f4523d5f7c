"""What runs cost is added up before they start, and only from what is known."""

from __future__ import annotations

import pytest

from harness.launch.cost import (
    EFFICIENCY,
    Pace,
    TaskSize,
    count_flops,
    count_tokens,
    estimate_cost,
    measure_flops_per_second,
    read_history,
)
from harness.spec import Checkpoint, Recipe, Run
from tests.small_study import SST2

SIZE = TaskSize(train_examples=320, validation_examples=50, test_examples=150, mean_tokens=20.0)
CHECKPOINT = Checkpoint(name="c", path="c", fingerprint="f" * 16, parameters=1_000_000)


def run_of(checkpoint: Checkpoint = CHECKPOINT, **recipe: float) -> Run:
    numbers = {"learning_rate": 1e-4, "max_steps": 100} | recipe
    return Run(task=SST2, checkpoint=checkpoint, recipe=Recipe(**numbers), seed=0)


def test_tokens_are_those_of_all_steps_and_of_both_evaluated_splits() -> None:
    assert count_tokens(run_of(), SIZE) == (100 * 32 * 20, 200 * 20)


def test_a_limit_of_epochs_shortens_the_training() -> None:
    assert count_tokens(run_of(max_epochs=2), SIZE)[0] == 2 * 10 * 32 * 20


def test_arithmetic_is_six_operations_a_trained_token_and_two_an_evaluated_one() -> None:
    assert count_flops(run_of(), SIZE) == 1e6 * (6 * 64_000 + 2 * 4_000)


def test_hours_come_from_the_rate_of_a_worker() -> None:
    cost = estimate_cost([run_of()] * 2, {"sst2": SIZE}, workers=2, flops_per_second=1e9)
    seconds = 1e6 * (6 * 64_000 + 2 * 4_000) / (1e9 * EFFICIENCY)
    assert cost.hours == pytest.approx(seconds / 3600)


def test_the_pace_of_earlier_runs_counts_for_more_than_the_rate() -> None:
    records = [
        {
            "status": "ok",
            "fingerprint": "f" * 16,
            "task": "sst2",
            "steps": 50,
            "seconds": {"train": 10.0, "total": 13.0},
        },
        {"status": "failed", "fingerprint": "f" * 16, "task": "sst2"},
    ]
    history = read_history(records)
    assert history == {("f" * 16, "sst2"): Pace(step=0.2, rest=3.0)}
    cost = estimate_cost([run_of()], {"sst2": SIZE}, flops_per_second=1e9, history=history)
    assert cost.hours == pytest.approx((100 * 0.2 + 3.0) / 3600)


def test_nothing_is_said_about_time_where_neither_size_nor_pace_is_known() -> None:
    unknown = CHECKPOINT.model_copy(update={"parameters": None})
    cost = estimate_cost([run_of(), run_of(unknown)], {"sst2": SIZE}, flops_per_second=1e9)
    assert cost.flops is None
    assert cost.hours is None
    assert cost.train_tokens == 2 * 64_000


def test_no_runs_cost_nothing() -> None:
    cost = estimate_cost([], {})
    assert (cost.flops, cost.hours, cost.disk_bytes) == (0.0, 0.0, 0)


def test_the_rate_of_this_machine_is_measured() -> None:
    assert 1e8 < measure_flops_per_second("cpu", threads=1) < 1e14
