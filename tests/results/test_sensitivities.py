from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from harness.errors import StudyError
from harness.predictions import predictions_path
from harness.results import ALL_TASKS, load_study
from harness.spec import Recipe
from tests.results.example_study import BETTER, FAIR, GOOD
from tests.results.example_study import study_of as study_with_examples
from tests.small_study import (
    CHECKPOINTS,
    SST2,
    diverged,
    record_of,
    records_of,
    small_grid,
    write_study,
)

RATES = (1e-5, 1e-4, 1e-3)
MEANS = {"sst2": (0.6, 0.9, 0.3), "stsb": (0.5, 0.6, 0.8)}


def study_of(folder, make=None, **changes):
    def standard(run):
        mean = MEANS[run.task.name][RATES.index(run.recipe.learning_rate)]
        score = mean + (run.seed - 1) / 100
        return record_of(run, score, score)

    grid = small_grid(**({"rates": RATES, "checkpoints": CHECKPOINTS[:1]} | changes))
    return load_study(write_study(folder, grid, records_of(grid, make or standard)))


def test_columns_are_those_of_the_means_at_each_rate(tmp_path):
    row = study_of(tmp_path).sensitivity().set_index("task").loc["sst2"]
    assert row["best"] == pytest.approx(0.9)
    assert row["range"] == pytest.approx(0.6)
    assert row["deviation"] == pytest.approx(0.3)
    assert row["area"] == pytest.approx((0.6 + 0.9) / 4 + (0.9 + 0.3) / 4)
    assert row["range_low"] < 0.6 < row["range_high"]


def test_regret_is_what_a_task_loses_by_the_common_rate(tmp_path):
    frame = study_of(tmp_path).sensitivity().set_index("task")
    # Means over tasks: 0.55, 0.75, 0.55.
    assert set(frame["common_rate"]) == {1e-4}
    assert frame.loc["sst2", "regret"] == pytest.approx(0)
    assert frame.loc["stsb", "regret"] == pytest.approx(0.2)
    assert frame.loc[ALL_TASKS, "regret"] == pytest.approx(0.1)
    assert frame.loc[ALL_TASKS, "range"] == pytest.approx((0.6 + 0.3) / 2)
    assert list(frame.loc[ALL_TASKS, ["n_ok", "n_planned"]]) == [18, 18]


def test_a_rate_with_a_diverged_run_is_not_the_common_rate(tmp_path):
    """At 1e-4 the one run that is left has the best score of all."""

    def make(run):
        if run.recipe.learning_rate == 1e-4 and run.seed:
            return diverged(run, 3)
        score = {1e-5: 0.6, 1e-4: 0.9, 1e-3: 0.5}[run.recipe.learning_rate]
        return record_of(run, score, score)

    frame = study_of(tmp_path, make).sensitivity()
    assert set(frame["common_rate"]) == {1e-5}
    assert set(frame["regret"]) == {0.0}


def test_the_best_of_one_run_is_the_mean_and_of_all_runs_the_best(tmp_path):
    row = study_of(tmp_path).sensitivity(budgets=(1, 9, 10)).set_index("task").loc["sst2"]
    assert row["best_of_1"] == pytest.approx(0.6)
    assert row["best_of_9"] == pytest.approx(0.91)
    assert np.isnan(row["best_of_10"])


def test_diverged_runs_are_a_share_of_those_planned(tmp_path):
    def make(run):
        if run.recipe.learning_rate == 1e-3:
            return diverged(run, 3)
        return record_of(run, 0.8, 0.8, collapsed=run.seed == 0)

    row = study_of(tmp_path, make).sensitivity().iloc[0]
    assert row["diverged"] == pytest.approx(1 / 3)
    assert row["collapsed"] == pytest.approx(2 / 9)
    assert (row["n_ok"], row["n_planned"]) == (6, 9)


def test_two_checkpoints_are_compared_on_the_measures(tmp_path):
    def make(run):
        mean = (0.6, 0.9, 0.3) if run.checkpoint.name == "clm" else (0.85, 0.9, 0.8)
        score = mean[RATES.index(run.recipe.learning_rate)] + (run.seed - 1) / 1000
        return record_of(run, score, score)

    study = study_of(tmp_path, make, tasks=(SST2,), checkpoints=CHECKPOINTS)
    frame = study.compare_sensitivity("clm", "mlm_40").set_index("measure")
    assert frame.loc["range", "difference"] == pytest.approx(0.5)
    assert frame.loc["range", "low"] > 0


def test_shares_of_diverged_and_collapsed_runs_are_compared(tmp_path):
    """Of nine runs, clm loses three and mlm_40 collapses in two."""

    def make(run):
        if run.checkpoint.name == "clm" and run.recipe.learning_rate == 1e-3:
            return diverged(run, 3)
        is_flat = run.checkpoint.name == "mlm_40" and run.recipe.learning_rate == 1e-3
        return record_of(run, 0.8, 0.8, collapsed=is_flat and run.seed > 0)

    study = study_of(tmp_path, make, tasks=(SST2,), checkpoints=CHECKPOINTS)
    frame = study.compare_sensitivity("clm", "mlm_40").set_index("measure")
    for measure, counts in {"diverged": (3, 9, 0, 9), "collapsed": (0, 9, 2, 9)}.items():
        row = frame.loc[measure]
        assert row["difference"] == pytest.approx((counts[0] - counts[2]) / 9)
        ends = confint_proportions_2indep(*counts, method="newcomb", compare="diff")
        assert (row["low"], row["high"]) == pytest.approx(ends)


def test_shares_have_no_bounds_while_runs_are_missing(tmp_path):
    study = study_of(tmp_path, tasks=(SST2,), checkpoints=CHECKPOINTS)
    study.latest.pop(study.planned[0].run_id)
    row = study.compare_sensitivity("clm", "mlm_40").set_index("measure").loc["diverged"]
    assert row["difference"] == 0
    assert row[["low", "high"]].isna().all()


def test_regret_is_compared_over_all_tasks_together(tmp_path):
    """Tasks of mlm_40 have the same best rate; those of clm lose 0 and 0.2 by the common one."""

    def make(run):
        means = MEANS["sst2" if run.checkpoint.name == "mlm_40" else run.task.name]
        score = means[RATES.index(run.recipe.learning_rate)] + (run.seed - 1) / 1000
        return record_of(run, score, score)

    study = study_of(tmp_path, make, checkpoints=CHECKPOINTS)
    frame = study.compare_sensitivity("clm", "mlm_40")
    (row,) = frame[frame["measure"] == "regret"].to_dict("records")
    assert row["task"] == ALL_TASKS
    assert row["difference"] == pytest.approx(0.1)
    assert 0 < row["low"] < 0.1 < row["high"]
    every = study.sensitivity().set_index(["checkpoint", "task"])["regret"]
    assert every["clm", ALL_TASKS] - every["mlm_40", ALL_TASKS] == pytest.approx(0.1)
    alone = study.where(task="sst2").compare_sensitivity("clm", "mlm_40")
    assert alone["measure"].tolist() == ["range", "deviation", "area", "diverged", "collapsed"]


def test_points_that_differ_in_more_than_the_rate_are_refused(tmp_path):
    recipes = tuple(Recipe(learning_rate=1e-5, batch_size=size) for size in (8, 16))
    study = study_of(
        tmp_path,
        lambda run: record_of(run, 0.5, 0.5),
        tasks=(SST2,),
        recipes={"sst2": recipes},
        sweep=("learning_rate", "batch_size"),
    )
    with pytest.raises(StudyError, match="points differ in more than the learning rate"):
        study.sensitivity()
    assert len(study.where(batch_size=8).sensitivity()) == 1


def test_variance_is_split_by_examples_where_there_are_predictions(tmp_path):
    row = study_with_examples(tmp_path, BETTER).variance().iloc[0]
    assert row["split_by"] == "scores per example"
    assert np.isnan(row["rate"])
    shares = row[["seed_share", "example_share", "residual_share"]]
    assert shares.sum() == pytest.approx(1)
    assert row["example_share"] > 0.8


def test_variance_is_split_by_rate_and_seed_from_scores_alone(tmp_path):
    row = study_of(tmp_path).variance().set_index("task").loc["sst2"]
    assert row["split_by"] == "scores of runs"
    assert row["seed"] == pytest.approx(0.01**2)
    assert row["rate"] == pytest.approx(0.3**2 - 0.01**2 / 3)


def test_power_says_what_more_seeds_bring(tmp_path):
    study = study_with_examples(tmp_path, BETTER)
    power = study.power(seeds=(3, 10))
    assert list(power["examples"]) == [80, 80]
    assert power["half_width"].is_monotonic_decreasing
    assert power["smallest_difference"].is_monotonic_decreasing
    measured = study.table(interval="both")["half_width"]
    assert power["half_width"].iloc[0] == pytest.approx(measured.mean(), rel=0.1)


def test_seeds_do_not_make_up_for_few_examples(tmp_path):
    study = study_with_examples(tmp_path, BETTER)
    assert study.seeds_needed(0.001)["seeds_needed"].isna().all()
    assert study.seeds_needed(0.5)["seeds_needed"].iloc[0] == 2
    assert {len(GOOD), len(FAIR)} == {80}


def test_the_variance_of_a_task_is_of_scores_of_one_kind_and_names_who_has_none(tmp_path):
    study = study_with_examples(tmp_path, BETTER, rates=(1e-5, 1e-4))
    alone = study.where(checkpoint="mlm_40").variance().iloc[0]
    assert study.variance()["left_out"].tolist() == [""]
    lost = next(run for run in study.planned if run.checkpoint.name == "clm")
    predictions_path(tmp_path, lost.run_id).unlink()
    row = load_study(tmp_path).variance().iloc[0]
    assert (row["split_by"], row["checkpoints"]) == ("scores per example", 1)
    assert row["left_out"] == "clm"
    assert row["seed"] == alone["seed"]
