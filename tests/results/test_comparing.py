from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from harness.errors import StudyError
from harness.predictions import predictions_path
from harness.results import ALL_TASKS, LEVEL, letter_groups, load_study
from harness.spec import Checkpoint, Recipe
from tests.results.example_study import BETTER, FAIR, GOOD, study_of
from tests.small_study import CHECKPOINTS, SST2, record_of, records_of, small_grid, write_study


def test_a_difference_is_a_minus_b_with_an_interval_and_a_p(tmp_path):
    row = study_of(tmp_path, BETTER).compare("mlm_40", "clm").iloc[0]
    means = {name: np.mean([np.mean(v) for (c, _), v in BETTER.items() if c == name])
             for name in ("mlm_40", "clm")}  # fmt: skip
    assert row["difference"] == pytest.approx(means["mlm_40"] - means["clm"])
    assert row["low"] < row["difference"] < row["high"]
    assert row["low"] > 0
    assert row["p"] < 0.01
    assert row["p_corrected"] == row["p"]
    assert row["p_permutation"] < 0.01
    assert (row["n_a"], row["n_b"], row["resampled"]) == (3, 3, "seeds and examples")
    assert row["improvement"] == 1.0


def test_sides_swapped_change_the_sign_alone(tmp_path):
    study = study_of(tmp_path, BETTER)
    there, back = study.compare("mlm_40", "clm").iloc[0], study.compare("clm", "mlm_40").iloc[0]
    assert back["difference"] == pytest.approx(-there["difference"])
    assert (back["low"], back["high"]) == pytest.approx((-there["high"], -there["low"]), abs=1e-3)
    assert back["p"] == pytest.approx(there["p"], rel=0.1)


def test_over_seeds_alone_it_is_welch(tmp_path):
    study = study_of(tmp_path, BETTER)
    row = study.compare("mlm_40", "clm", interval="seeds").iloc[0]
    sides = [[np.mean(v) for (c, _), v in BETTER.items() if c == n] for n in ("mlm_40", "clm")]
    expected = scipy_stats.ttest_ind(*sides, equal_var=False)
    assert row["p"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert row["low"] == pytest.approx(expected.confidence_interval().low, rel=1e-6)


def test_runs_of_other_examples_are_not_paired(tmp_path):
    study = study_of(tmp_path, BETTER, ids={2: "other-"})
    with pytest.raises(StudyError, match=r"are of other test examples(.|\n)*interval 'seeds'"):
        study.compare("mlm_40", "clm")
    assert np.isfinite(study.compare("mlm_40", "clm", interval="seeds")["p"].iloc[0])


def test_lost_predictions_of_one_checkpoint_cost_no_other_pair_its_interval(tmp_path):
    third = CHECKPOINTS[0].model_copy(update={"name": "third", "fingerprint": "3" * 16})
    answers = BETTER | {("third", seed): FAIR for seed in (0, 1, 2)}
    study = study_of(tmp_path, answers, checkpoints=(*CHECKPOINTS, third))
    before = study.compare_all().set_index(["a", "b"])
    lost = next(run for run in study.planned if run.checkpoint.name == "third")
    predictions_path(tmp_path, lost.run_id).unlink()
    study = load_study(tmp_path)
    after = study.compare_all().set_index(["a", "b"])
    assert after.loc[("mlm_40", "clm"), "low"] == before.loc[("mlm_40", "clm"), "low"]
    assert np.isfinite(before["low"]).all()
    assert after.loc[[("mlm_40", "third"), ("clm", "third")], "low"].isna().all()
    with pytest.raises(StudyError, match=lost.run_id):
        study.compare("mlm_40", "third")


def test_predictions_that_do_not_give_the_recorded_score_are_refused(tmp_path):
    study = study_of(tmp_path, BETTER)
    run = study.planned[0]
    study.latest[run.run_id]["scores"]["test"]["accuracy"] = 0.99
    with pytest.raises(StudyError, match=r"test accuracy of 0.875000, its record says 0.990000"):
        study.compare("mlm_40", "clm")


def test_mcnemar_is_given_for_one_run_a_side(tmp_path):
    single = {("mlm_40", 0): GOOD, ("clm", 0): FAIR}
    row = study_of(tmp_path, single).where(seed=0).compare("mlm_40", "clm").iloc[0]
    # 20 examples only one got right, all on one side.
    assert row["p_mcnemar"] == pytest.approx(2 * 0.5**20)
    assert np.isnan(row["p"])


def recipes_study(folder, means, seeds=(0, 1), columns=lambda place: {}, **changes):
    """Make a study of checkpoints with an objective each: (name, objective) -> score of sst2."""
    checkpoints = tuple(
        Checkpoint(
            name=n,
            path=n,
            fingerprint=f"{place:016x}",
            columns={"objective": objective, **columns(place)},
        )
        for place, (n, objective) in enumerate(means)
    )
    grid = small_grid(rates=(1e-5,), seeds=seeds, checkpoints=checkpoints, **changes)
    by_name = {name: score for (name, _), score in means.items()}

    def make(run):
        score = by_name[run.checkpoint.name] + run.seed / 100
        return record_of(run, score, score)

    return load_study(write_study(folder, grid, records_of(grid, make)))


MEANS = {
    ("a1", "clm"): 0.60,
    ("a2", "clm"): 0.62,
    ("a3", "clm"): 0.61,
    ("b1", "mlm"): 0.70,
    ("b2", "mlm"): 0.73,
    ("b3", "mlm"): 0.71,
}


def test_recipes_are_compared_over_their_checkpoints(tmp_path):
    frame = recipes_study(tmp_path, MEANS).compare("objective=mlm", "objective=clm")
    row = frame.iloc[0]
    sides = [[s + 0.005 for (_, o), s in MEANS.items() if o == side] for side in ("mlm", "clm")]
    expected = scipy_stats.ttest_ind(*sides, equal_var=False)
    assert row["resampled"] == "checkpoints"
    assert row["p"] == pytest.approx(expected.pvalue, rel=1e-6)
    together = frame.iloc[-1]
    assert together["task"] == ALL_TASKS
    # Both tasks have the same scores: the mean of a checkpoint over tasks is that of one task.
    assert together["p"] == pytest.approx(expected.pvalue, rel=1e-6)


def test_more_tasks_of_the_same_checkpoints_do_not_narrow_how_often_one_recipe_is_better(tmp_path):
    """Both tasks have the same scores, so together they say what one says."""
    overlap = MEANS | {("a2", "clm"): 0.72}
    frame = recipes_study(tmp_path, overlap).compare("objective=mlm", "objective=clm")
    ends = frame[["improvement", "improvement_low", "improvement_high"]]
    assert list(ends["improvement"]) == pytest.approx([7 / 9] * 3)
    widths = ends["improvement_high"] - ends["improvement_low"]
    assert widths.iloc[2] == pytest.approx(widths.iloc[0], abs=0.05)


def test_one_checkpoint_against_several_has_no_share_of_better_runs(tmp_path):
    frame = recipes_study(tmp_path, MEANS).compare("objective=mlm", "a1", interval="seeds")
    assert set(frame["resampled"]) == {"seeds, with these checkpoints"}
    assert frame["improvement"].isna().all()


def test_steps_of_one_pretraining_run_are_no_recipe(tmp_path):
    study = recipes_study(tmp_path / "one", MEANS, columns=lambda place: {"step": place})
    with pytest.raises(StudyError, match="'b1' and 'b2' are steps of one pretraining run"):
        study.compare("objective=mlm", "objective=clm")
    fixed = study.compare("objective=mlm", "a1", interval="seeds")
    assert set(fixed["resampled"]) == {"seeds, with these checkpoints"}
    apart = recipes_study(tmp_path / "two", MEANS, columns=lambda place: {"step": 9, "run": place})
    assert set(apart.compare("objective=mlm", "objective=clm")["resampled"]) == {"checkpoints"}


def test_one_checkpoint_in_two_precisions_is_no_recipe(tmp_path):
    for precision in ("fp32", "bf16"):
        recipe = Recipe(learning_rate=1e-5, max_steps=10, precision=precision)
        recipes_study(
            tmp_path / precision, MEANS, recipes=dict.fromkeys(("sst2", "stsb"), (recipe,))
        )
    study = load_study([tmp_path / "fp32", tmp_path / "bf16"])
    with pytest.raises(StudyError, match="differ in precision, so they are not taken together"):
        study.compare("objective=mlm", "objective=clm")
    found = study.where(precision="fp32").compare("objective=mlm", "objective=clm")
    assert list(found["n_a"]) == [6, 6, 12]


def test_a_comparison_says_its_confidence_and_its_correction(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    asked = {"interval": "seeds", "confidence": 0.9, "correction": "bh"}
    for frame in (study.compare("a1", "b1", **asked), study.compare_all(**asked)):
        assert set(frame["confidence"]) == {0.9}
        assert set(frame["correction"]) == {"bh"}


def test_p_of_several_tasks_is_corrected_by_holm(tmp_path):
    frame = recipes_study(tmp_path, MEANS).compare("a1", "b1", interval="seeds")
    assert list(frame["task"]) == ["sst2", "stsb", ALL_TASKS]
    assert list(frame["p_corrected"][:2]) == pytest.approx([2 * p for p in frame["p"][:2]])
    assert frame["p_corrected"].iloc[2] == frame["p"].iloc[2]


def test_every_pair_is_compared_and_grouped(tmp_path):
    study = recipes_study(tmp_path, MEANS, seeds=range(5))
    pairs = study.compare_all(interval="seeds")
    assert len(pairs) == 15 * 3
    found = letter_groups(pairs[pairs["task"] == "sst2"]).set_index("checkpoint")["groups"]
    assert list(found.index) == ["b2", "b3", "b1", "a2", "a3", "a1"]
    assert not set(found["b2"].split()) & set(found["a1"].split())
    assert set(found["a1"].split()) & set(found["a2"].split())


def test_letters_follow_the_corrected_p():
    pairs = pd.DataFrame(
        [("x", "y", 0.9, 0.8, 0.5), ("x", "z", 0.9, 0.7, 0.01), ("y", "z", 0.8, 0.7, 0.2)],
        columns=["a", "b", "mean_a", "mean_b", "p_corrected"],
    ).assign(metric="accuracy")
    assert letter_groups(pairs)["groups"].tolist() == ["a", "a b", "b"]


def test_the_best_of_each_task_comes_with_those_that_are_tied(tmp_path):
    best = recipes_study(tmp_path, MEANS).best()
    row = best[best["task"] == "sst2"].iloc[0]
    assert row["best"] == "b2"
    assert "b3" in row["tied"]
    assert row["mean"] == pytest.approx(0.735)


def test_the_best_is_corrected_as_all_pairs_since_it_is_picked_from_the_same_scores(tmp_path):
    study = recipes_study(tmp_path, MEANS, tasks=(SST2,))
    best = study.best().iloc[0]["best"]
    p = [
        study.compare(best, name, interval="seeds")["p"].iloc[0]
        for name in study.checkpoints
        if name != best
    ]
    found = study._comparer(interval="seeds").with_best().set_index("b")["p_corrected"]
    # 6 checkpoints make 15 pairs, of which the best is in 5: three times Holm's steps of 5.
    expected = np.maximum.accumulate(np.sort(p) * [15, 12, 9, 6, 3])
    assert sorted(found) == pytest.approx(np.minimum(expected, 1))


@pytest.mark.slow
def test_equal_checkpoints_are_told_apart_from_the_best_in_at_most_5_percent_of_tables(tmp_path):
    means = {(f"c{number}", "clm"): 0.5 for number in range(10)}
    study = recipes_study(tmp_path, means, seeds=range(5), tasks=(SST2,))
    generator = np.random.default_rng(0)
    n_tables, told_apart = 400, 0
    for _ in range(n_tables):
        for record in study.latest.values():
            record["scores"]["test"]["accuracy"] = generator.normal(0.5, 0.01)
        pairs = study._comparer(interval="seeds").with_best()
        told_apart += bool((pairs["p_corrected"] <= LEVEL).any())
    assert told_apart <= 0.05 * n_tables


def test_where_lower_is_better_the_best_is_the_lowest_and_improves_on_the_others(tmp_path):
    grid = small_grid(rates=(1e-5,), tasks=(SST2,))

    def make(run):
        loss = {"mlm_40": 0.2, "clm": 0.4}[run.checkpoint.name] + run.seed / 100
        scores = {split: {"accuracy": 0.8, "log_loss": loss} for split in ("validation", "test")}
        return record_of(run, 0.8, 0.8, scores=scores)

    study = load_study(write_study(tmp_path, grid, records_of(grid, make)))
    row = study.best("log_loss").iloc[0]
    assert (row["best"], row["mean"], row["tied"]) == ("mlm_40", pytest.approx(0.21), [])
    row = study.compare("mlm_40", "clm", "log_loss", interval="seeds").iloc[0]
    assert row["difference"] == pytest.approx(-0.2)
    assert row["improvement"] == 1.0


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("a1", "b9", "checkpoint 'b9'; it has a1, a2, a3, b1, b2, b3"),
        ("a1", "a1", "'a1' stands on both sides"),
        ("objektive=clm", "b1", "column 'objektive'; did you mean 'objective'"),
        ("objective=rtd", "b1", "no checkpoint has objective=rtd; there is clm, mlm"),
        ("objective=clm", "a1", "'a1' stands on both sides"),
    ],
)
def test_sides_that_are_not_there_are_named(tmp_path, a, b, message):
    with pytest.raises(StudyError, match=message):
        recipes_study(tmp_path, MEANS).compare(a, b, interval="seeds")


def test_a_task_without_whole_cells_on_both_sides_is_left_out(tmp_path):
    grid = small_grid(rates=(1e-5,))

    def make(run):
        is_hole = run.task.name == SST2.name and run.seed == 0 and run.checkpoint.name == "clm"
        return None if is_hole else record_of(run, 0.8, 0.8 + run.seed / 100)

    study = load_study(write_study(tmp_path, grid, records_of(grid, make)))
    frame = study.compare("mlm_40", "clm", interval="seeds")
    assert list(frame["task"]) == ["stsb"]
