from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, trim_mean

from harness.errors import StudyError
from harness.results import load_study
from tests.results.loss_study import both_ways, imported, study_of_checkpoints
from tests.small_study import (
    SST2,
    STSB,
    diverged,
    record_of,
    records_of,
    small_grid,
    write_study,
)

COLA = SST2.model_copy(update={"name": "cola"})
SCORES = {
    ("mlm_40", "sst2"): (0.90, 0.92, 0.94, 0.96),
    ("mlm_40", "cola"): (0.50, 0.52, 0.54, 0.56),
    ("mlm_40", "stsb"): (0.70, 0.72, 0.74, 0.76),
    ("clm", "sst2"): (0.93, 0.95, 0.97, 0.99),
    ("clm", "cola"): (0.40, 0.42, 0.44, 0.46),
    ("clm", "stsb"): (0.80, 0.82, 0.84, 0.86),
}
ENDS = ("", "_low", "_high")


def study_of(folder, make=None, tasks=(SST2, COLA, STSB), seeds=(0, 1, 2, 3), **changes):
    def standard(run):
        score = SCORES[run.checkpoint.name, run.task.name][run.seed]
        return record_of(run, score, score)

    grid = small_grid(rates=(1e-5,), tasks=tasks, seeds=seeds, **changes)
    return load_study(write_study(folder, grid, records_of(grid, make or standard)))


def without_stsb_of_clm(run):
    if (run.checkpoint.name, run.task.name, run.seed) == ("clm", "stsb", 0):
        return diverged(run, 3)
    score = SCORES[run.checkpoint.name, run.task.name][run.seed]
    return record_of(run, score, score)


def row_of(frame, checkpoint):
    return frame.set_index("checkpoint").loc[checkpoint]


def test_each_checkpoint_has_its_aggregates_and_its_rank(tmp_path):
    frame = study_of(tmp_path).over_tasks()
    row = row_of(frame, "mlm_40")
    assert row["mean"] == pytest.approx((0.93 + 0.53 + 0.73) / 3)
    assert row["median"] == pytest.approx(0.73)
    # Of 12 runs the three lowest (0.50 to 0.54) and the three highest (0.92 to 0.96) are left out.
    assert row["interquartile_mean"] == pytest.approx((0.56 + 0.70 + 0.72 + 0.74 + 0.76 + 0.90) / 6)
    # On sst2 mlm_40 is ahead in 0.94 > 0.93, 0.96 > 0.93 and 0.96 > 0.95: 3 of 16 pairs; on cola
    # always, on stsb never.
    assert row["rank"] == pytest.approx((2 - 3 / 16 + 1 + 2) / 3)
    assert row_of(frame, "clm")["rank"] == pytest.approx((1 + 3 / 16 + 2 + 1) / 3)
    for name in ("mean", "interquartile_mean", "median", "rank"):
        value, low, high = (row[f"{name}{end}"] for end in ENDS)
        assert low < value < high, name
    assert (row["tasks"], row["task_names"]) == (3, "sst2, cola, stsb")
    assert (row["n_ok"], row["n_planned"], row["metric"]) == (12, 12, "accuracy, spearman")
    assert frame[["absent", "left_out"]].isna().all(axis=None)


def test_aggregates_and_ranks_agree_with_scipy(tmp_path):
    generator = np.random.default_rng(0)
    scores = {key: generator.uniform(size=4).round(1) for key in SCORES}

    def make(run):
        score = float(scores[run.checkpoint.name, run.task.name][run.seed])
        return record_of(run, score, score)

    frame = study_of(tmp_path, make).over_tasks()
    drawn = [
        rankdata([-a, -b])
        for task in ("sst2", "cola", "stsb")
        for a, b in itertools.product(scores["mlm_40", task], scores["clm", task])
    ]
    assert frame["rank"].tolist() == pytest.approx(np.mean(drawn, axis=0).tolist())
    for name in ("mlm_40", "clm"):
        of_name = np.stack([of for (checkpoint, _), of in scores.items() if checkpoint == name])
        row = row_of(frame, name)
        assert row["interquartile_mean"] == pytest.approx(trim_mean(of_name, 0.25, axis=None))
        assert row["mean"] == pytest.approx(of_name.mean())
        assert row["median"] == pytest.approx(np.median(of_name.mean(axis=1)))


def test_equal_seeds_give_equal_intervals(tmp_path):
    study = study_of(tmp_path)
    assert study.over_tasks(seed=1).equals(study.over_tasks(seed=1))
    assert not study.over_tasks(seed=1).equals(study.over_tasks(seed=2))
    narrow, wide = (row_of(study.over_tasks(confidence=c), "clm") for c in (0.5, 0.99))
    assert wide["rank_high"] - wide["rank_low"] > narrow["rank_high"] - narrow["rank_low"]


def test_a_checkpoint_that_lacks_a_task_has_no_numbers_and_says_why(tmp_path):
    frame = study_of(tmp_path, without_stsb_of_clm).over_tasks()
    row = row_of(frame, "clm")
    assert row["absent"] == "without a learning rate with all runs good: stsb"
    assert row[["mean", "median", "interquartile_mean", "rank"]].isna().all()
    assert (row["n_ok"], row["n_planned"]) == (8, 12)
    # The other is over all three tasks still, and alone.
    alone = row_of(frame, "mlm_40")
    assert (alone["tasks"], alone["rank"]) == (3, 1)


def test_both_are_ranked_on_the_tasks_that_are_kept(tmp_path):
    frame = study_of(tmp_path, without_stsb_of_clm).without(task="stsb").over_tasks()
    assert frame["rank"].tolist() == pytest.approx([(2 - 3 / 16 + 1) / 2, (1 + 3 / 16 + 2) / 2])
    assert set(frame["task_names"]) == {"sst2, cola"}


def test_a_task_that_no_checkpoint_has_whole_is_left_out_by_name(tmp_path):
    def make(run):
        return diverged(run, 3) if run.task.name == "cola" else record_of(run, 0.5, 0.5)

    frame = study_of(tmp_path, make).over_tasks()
    assert set(frame["left_out"]) == {"cola"}
    assert set(frame["task_names"]) == {"sst2, stsb"}
    assert frame["rank"].tolist() == [1.5, 1.5]
    assert frame["mean"].tolist() == [0.5, 0.5]


def test_a_study_without_a_whole_cell_is_refused(tmp_path):
    study = study_of(tmp_path, lambda run: diverged(run, 3))
    with pytest.raises(StudyError, match="no checkpoint has a task with all runs good"):
        study.over_tasks()


def test_one_seed_has_numbers_without_intervals(tmp_path):
    study = study_of(tmp_path, seeds=(0,))
    row = row_of(study.over_tasks(), "mlm_40")
    assert row["mean"] == pytest.approx(0.70)
    assert row["rank"] == pytest.approx(5 / 3)
    ends = [f"{name}{end}" for name in ("mean", "median", "rank") for end in ENDS[1:]]
    assert row[ends].isna().all()
    profile = study.profiles([0.6])
    assert profile["share"].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert profile[["low", "high"]].isna().all(axis=None)


def test_numbers_of_runs_that_differ_between_tasks_are_named(tmp_path):
    rows = "".join(
        f"bert,{task},{seed},0.{seed + 5}\n"
        for task, n_seeds in (("a", 3), ("b", 2))
        for seed in range(n_seeds)
    )
    study = imported(tmp_path, f"checkpoint,task,seed,score\n{rows}")
    study.planned[:] = [run for run in study.planned if run.run_id in study.latest]
    row = study.over_tasks().iloc[0]
    assert (
        row["absent"] == "numbers of runs differ (a 3, b 2); keep the same seeds (--where seed=N)"
    )
    assert np.isnan(row["mean"])


def test_the_lowest_loss_has_the_first_rank_and_keeps_its_sign(tmp_path):
    study = study_of_checkpoints(tmp_path, {"a": 0.4, "b": 0.2}, tasks=(SST2, COLA))
    frame = study.over_tasks("log_loss")
    assert frame["rank"].tolist() == [2, 1]
    assert frame["mean"].tolist() == pytest.approx([0.4, 0.2])
    # Losses of a are 0.39, 0.40 and 0.41, of b 0.19, 0.20 and 0.21; a share is of those below.
    profile = study.profiles([0.2, 0.395], metric="log_loss")
    assert profile["share"].tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1])


def test_scores_of_which_some_are_better_when_lower_have_ranks_alone(tmp_path):
    study = both_ways(tmp_path)
    frame = study.over_tasks()
    assert frame["rank"].tolist() == [1, 2]
    assert frame["mean"].isna().all()
    assert set(frame["absent"]) == {"lower is better for log_loss only"}
    with pytest.raises(StudyError, match="no profile over these tasks: lower is better for"):
        study.profiles()


def test_scores_of_different_scales_have_ranks_alone(tmp_path):
    rows = "".join(
        f"{name},{task},{metric},{seed},{score + seed / 100}\n"
        for task, metric, scores in (("a", "accuracy", (0.9, 0.8)), ("b", "bleu", (30, 40)))
        for name, score in zip(("bert", "gpt"), scores, strict=True)
        for seed in (0, 1)
    )
    frame = imported(tmp_path, f"checkpoint,task,metric,seed,score\n{rows}").over_tasks()
    assert frame["rank"].tolist() == [1.5, 1.5]
    assert set(frame["absent"]) == {"scores of accuracy, bleu are not on one scale"}


def test_a_profile_is_the_share_of_runs_above_each_threshold(tmp_path):
    frame = study_of(tmp_path).profiles([0.45, 0.72, 0.99])
    assert frame["threshold"].tolist() == [0.45, 0.72, 0.99] * 2
    # mlm_40: all of 12; 0.74, 0.76 and four of sst2; none. clm: 0.46 and eight; eight; none.
    assert frame["share"].tolist() == pytest.approx([1, 6 / 12, 0, 9 / 12, 8 / 12, 0])
    assert (frame["low"] <= frame["share"]).all()
    assert (frame["share"] <= frame["high"]).all()
    for name, of_name in frame.groupby("checkpoint"):
        scores = np.array([of for (checkpoint, _), of in SCORES.items() if checkpoint == name])
        expected = [(scores > threshold).mean() for threshold in of_name["threshold"]]
        assert of_name["share"].tolist() == pytest.approx(expected)


def test_without_thresholds_a_profile_goes_from_the_lowest_to_the_highest_score(tmp_path):
    frame = study_of(tmp_path).profiles()
    assert len(frame) == 2 * 51
    assert (frame["threshold"].min(), frame["threshold"].max()) == (0.40, 0.99)


def test_a_checkpoint_without_a_profile_has_a_row_that_says_why(tmp_path):
    frame = study_of(tmp_path, without_stsb_of_clm).profiles([0.5])
    assert frame["checkpoint"].tolist() == ["mlm_40", "clm"]
    assert frame["share"].isna().tolist() == [False, True]
    assert row_of(frame, "clm")["absent"] == "without a learning rate with all runs good: stsb"
