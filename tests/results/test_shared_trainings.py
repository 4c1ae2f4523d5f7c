"""EncodEval tests one encoder on several ranking data sets: its seeds are the same draws there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from harness.imports import import_encodeval
from harness.results import ALL_TASKS, BY_VALIDATION, PER_SEED, Study, load_study
from harness.results.choosing import pick
from harness.stats import over_examples, student_t
from harness.stats.bootstrap import noise_variance
from harness.stats.intervals import add_parts
from tests.encodeval_tree import cells, write_tree

NAMES = ("610m-clm-42k", "610m-mlm40-42k")
RANKING = {"IR": ("mldr", "msmarco")}
BY_KIND = ("checkpoint", "kind")


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Import two checkpoints on two ranking data sets and sst2, at two rates, with five seeds."""
    folders = cells(NAMES, RANKING | {"SC": ("sst2",)})
    few = [folder for folder in folders if "lr1e-05" in folder.name or "lr2e-05" in folder.name]
    write_tree(tmp_path / "tree", few)
    return load_study(import_encodeval(tmp_path / "tree", tmp_path / "study").study)


def scores_of(study: Study, checkpoint: str, task: str) -> np.ndarray:
    """Give the test scores of the seeds at the rate that the table chooses."""
    cell = study._cells.get(checkpoint, task)
    table = study.table().set_index(["checkpoint", "task"])
    point = list(cell.rates).index(table.loc[(checkpoint, task), "learning_rate"])
    return cell.values("test", cell.task.main_metric)[point]


def choose_rate(study: Study, task: str, rate: float) -> None:
    """Let the runs of a task at this rate be the best on validation."""
    for record in study.latest.values():
        if record["task"] == task:
            is_best = record["recipe"]["learning_rate"] == rate
            record["scores"]["validation"][record["main_metric"]] = float(is_best)


def ranking_mean(study: Study, **asked) -> dict[str, float]:
    table = study.table(by=BY_KIND, **asked).set_index(["checkpoint", "kind"])
    return table.loc[(NAMES[0], "retrieval")]


def test_a_mean_over_tasks_of_one_training_is_averaged_seed_by_seed(study):
    for task in RANKING["IR"]:
        choose_rate(study, task, 2e-5)
    scores = [scores_of(study, NAMES[0], task) for task in RANKING["IR"]]
    expected = student_t(np.mean(scores, axis=0))
    found = ranking_mean(study)
    assert found["mean"] == pytest.approx(expected.mean)
    assert found["half_width"] == pytest.approx(expected.half_width)
    per_seed = ranking_mean(study, select=PER_SEED)
    assert per_seed["half_width"] == pytest.approx(expected.half_width)


def test_tasks_at_different_rates_have_different_trainings(study):
    choose_rate(study, "mldr", 1e-5)
    choose_rate(study, "msmarco", 2e-5)
    scores = [scores_of(study, NAMES[0], task) for task in RANKING["IR"]]
    parts = [np.var(of_task, ddof=1) / 5 / 4 for of_task in scores]
    freedom = sum(parts) ** 2 / sum(part**2 / 4 for part in parts)
    half_width = scipy_stats.t.ppf(0.975, freedom) * np.sqrt(sum(parts))
    assert ranking_mean(study)["half_width"] == pytest.approx(half_width)


def test_over_examples_too_the_seeds_of_one_training_count_once(study):
    for task in RANKING["IR"]:
        choose_rate(study, task, 2e-5)
    picks = pick(study._cells, metric=None, split="test", select=BY_VALIDATION)
    drawn = study._reader.draw(picks).by_cell
    runs = [
        drawn[p].of(p.run_ids)
        for p in picks
        if p.cell.checkpoint == NAMES[0] and p.cell.task.name in RANKING["IR"]
    ]
    seeds = np.var(np.mean([of_task.scores_R for of_task in runs], axis=0), ddof=1) / 5
    net = max(seeds - sum(map(noise_variance, runs)) / 4, 0)
    examples = add_parts([over_examples(of_task).examples for of_task in runs], 1 / 4)
    t_seeds, t_examples = scipy_stats.t.ppf(0.975, [4, examples.freedom])
    half_width = np.sqrt(t_seeds**2 * net + t_examples**2 * examples.variance)
    found = ranking_mean(study, interval="both")
    assert found["half_width"] == pytest.approx(half_width)


def test_all_tasks_of_a_comparison_count_a_shared_training_once(study):
    for task in RANKING["IR"]:
        choose_rate(study, task, 2e-5)
    ranking = study.where(task=list(RANKING["IR"]))
    sides = [
        np.mean([scores_of(ranking, name, task) for task in RANKING["IR"]], axis=0)
        for name in NAMES
    ]
    expected = scipy_stats.ttest_ind(*sides, equal_var=False)
    for frame in (
        ranking.compare(*NAMES, interval="seeds"),
        ranking.compare_all(interval="seeds"),
    ):
        together = frame[frame["task"] == ALL_TASKS].iloc[0]
        assert together["p"] == pytest.approx(expected.pvalue)
        assert together["low"] == pytest.approx(expected.confidence_interval().low)


def test_the_interval_of_a_mean_over_shared_trainings_holds_the_truth_as_often_as_it_says(study):
    choose_rate(study, "mldr", 2e-5)
    choose_rate(study, "msmarco", 2e-5)
    one = study.where(task=list(RANKING["IR"]), checkpoint=NAMES[0])
    generator = np.random.default_rng(0)
    n_tables, held = 300, 0
    for _ in range(n_tables):
        of_training = generator.normal(0.5, 0.02, size=5)
        for record in one.latest.values():
            noise = generator.normal(0, 0.005)
            record["scores"]["test"][record["main_metric"]] = of_training[record["seed"]] + noise
        cell = one.table(by="kind").iloc[0]
        held += bool(cell["low"] <= 0.5 <= cell["high"])
    assert 0.92 <= held / n_tables <= 0.98


def test_a_task_says_what_it_was_trained_on_and_its_runs_keep_their_ids(study):
    tasks = {task.name: task for task in study.grid.tasks}
    assert tasks["sst2"].trained_on is None
    assert tasks["mldr"].trained_on == tasks["msmarco"].trained_on == "msmarco_pairs"
    run = next(run for run in study.planned if run.task.name == "mldr")
    bare = run.model_copy(update={"task": run.task.model_copy(update={"trained_on": None})})
    assert bare.run_id == run.run_id


def test_bounds_over_tasks_say_where_they_take_one_training_for_two(study):
    for task in RANKING["IR"]:
        choose_rate(study, task, 2e-5)
    assert "some do: bounds are too narrow" in study.over_tasks()["resampled"].iloc[0]
    choose_rate(study, "mldr", 1e-5)
    assert study.over_tasks()["resampled"].iloc[0] == "seeds within each task"
