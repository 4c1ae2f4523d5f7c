"""What is left of a study is planned, in shards that suit warm workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.launch.cost import TaskSize
from harness.launch.plan import make_plan, make_shards
from harness.ledger import LedgerWriter
from harness.spec import Checkpoint
from tests.small_study import CHECKPOINTS, SST2, STSB, record_of, small_grid

SIZES = {
    "sst2": TaskSize(
        train_examples=100, validation_examples=10, test_examples=20, mean_tokens=25.0
    ),
    "stsb": TaskSize(train_examples=50, validation_examples=5, test_examples=5, mean_tokens=30.0),
}


def write(study: Path, *records: dict[str, object]) -> None:
    with LedgerWriter(study) as ledger:
        for record in records:
            ledger.append(record)


def test_a_new_study_has_everything_to_run(tmp_path: Path) -> None:
    plan = make_plan(small_grid(), tmp_path / "new")
    assert (plan.total, plan.done, plan.failed, plan.to_run) == (24, 0, 0, 24)
    assert not (tmp_path / "new").exists()


def test_runs_with_scores_and_runs_that_diverged_are_answered(tmp_path: Path) -> None:
    grid = small_grid()
    ok, diverged, failed, *rest = grid.runs()
    write(
        tmp_path,
        record_of(ok, 0.5, 0.5),
        {"run_id": diverged.run_id, "status": "diverged", "finished": "2025-01-01"},
        {"run_id": failed.run_id, "status": "failed", "finished": "2025-01-01"},
    )
    plan = make_plan(grid, tmp_path)
    assert (plan.total, plan.done, plan.failed, plan.to_run) == (24, 2, 1, 21)
    assert {run.run_id for run in plan.runs} == {run.run_id for run in rest}


def test_failed_runs_are_planned_again_when_asked_and_those_that_diverged_are_not(
    tmp_path: Path,
) -> None:
    grid = small_grid()
    diverged, failed = grid.runs()[:2]
    write(
        tmp_path,
        {"run_id": diverged.run_id, "status": "diverged", "finished": "2025-01-01"},
        {"run_id": failed.run_id, "status": "failed", "finished": "2025-01-01"},
    )
    plan = make_plan(grid, tmp_path, retry_failed=True)
    assert (plan.done, plan.failed, plan.to_run) == (1, 0, 23)
    assert failed.run_id in {run.run_id for run in plan.runs}


def test_a_finished_study_has_no_shards(tmp_path: Path) -> None:
    grid = small_grid()
    write(tmp_path, *(record_of(run, 0.5, 0.5) for run in grid.runs()))
    plan = make_plan(grid, tmp_path)
    assert (plan.done, plan.to_run, plan.shards) == (24, 0, ())


def test_two_checkpoints_with_the_same_content_are_run_once(tmp_path: Path) -> None:
    twin = Checkpoint(name="copy", path="elsewhere", fingerprint="a" * 16)
    plan = make_plan(small_grid(checkpoints=(*CHECKPOINTS, twin)), tmp_path)
    assert plan.total == 24


def test_a_shard_has_one_checkpoint_and_one_task_and_a_seeds_rates_side_by_side() -> None:
    shards = make_shards(small_grid().runs(), workers=1)
    assert len(shards) == 4
    for shard in shards:
        assert {run.checkpoint.name for run in shard.runs} == {shard.checkpoint.name}
        assert {run.task.name for run in shard.runs} == {shard.task.name}
        order = [(run.seed, run.recipe.learning_rate) for run in shard.runs]
        assert order == [(0, 1e-5), (0, 1e-4), (1, 1e-5), (1, 1e-4), (2, 1e-5), (2, 1e-4)]


def test_a_long_group_is_cut_between_seeds_so_that_workers_end_together() -> None:
    grid = small_grid(tasks=(SST2,), checkpoints=CHECKPOINTS[:1], seeds=range(10))
    shards = make_shards(grid.runs(), workers=1)  # 20 runs: at most 5 a shard, 2 rates a seed
    assert [len(shard) for shard in shards] == [6, 6, 4, 4]
    seeds = [{run.seed for run in shard.runs} for shard in shards]
    assert sum(map(len, seeds)) == 10
    assert set.union(*seeds) == set(range(10))


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 50])
def test_every_run_is_in_one_shard_however_many_workers_there_are(workers: int) -> None:
    runs = small_grid(seeds=range(7)).runs()
    shards = make_shards(runs, workers)
    planned = [run.run_id for shard in shards for run in shard.runs]
    assert sorted(planned) == sorted(run.run_id for run in runs)
    assert all(len(shard) % 2 == 0 for shard in shards)


def test_the_biggest_shards_come_first() -> None:
    large = Checkpoint(name="large", path="large", fingerprint="c" * 16, parameters=300_000_000)
    small = Checkpoint(name="small", path="small", fingerprint="d" * 16, parameters=20_000_000)
    shards = make_shards(small_grid(checkpoints=(small, large)).runs(), workers=1)
    assert [shard.checkpoint.name for shard in shards] == ["large", "large", "small", "small"]


def test_the_cost_is_of_what_is_left_only(tmp_path: Path) -> None:
    grid = small_grid()
    first = make_plan(grid, tmp_path, sizes=SIZES).cost
    write(tmp_path, *(record_of(run, 0.5, 0.5) for run in grid.runs() if run.task == STSB))
    second = make_plan(grid, tmp_path, sizes=SIZES).cost
    assert first is not None
    assert second is not None
    # 12 runs of each task: 10 steps of 32 examples, and all of validation and test
    assert first.train_tokens == 12 * 10 * 32 * 25 + 12 * 10 * 32 * 30
    assert second.train_tokens == 12 * 10 * 32 * 25
    assert second.evaluation_tokens == 12 * 30 * 25
