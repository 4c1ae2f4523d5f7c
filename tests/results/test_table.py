from __future__ import annotations

import pandas as pd
import pytest

from harness.errors import StudyError
from harness.results import load_study
from tests.small_study import (
    CHECKPOINTS,
    SST2,
    diverged,
    failed,
    record_of,
    records_of,
    small_grid,
    write_study,
)


def study_of(folder, make=None, **changes):
    grid = small_grid(**changes)
    return load_study(write_study(folder, grid, records_of(grid, make)))


def cell_of(table, checkpoint="mlm_40", task="sst2"):
    return table.set_index(["checkpoint", "task"]).loc[(checkpoint, task)]


def by_rate(low, high):
    """Score `low` at the smaller rate and `high` at the larger: (validation, test) each."""
    return lambda run: record_of(run, *(low if run.recipe.learning_rate == 1e-5 else high))


def test_one_row_a_checkpoint_and_task_in_the_order_of_the_grid(tmp_path):
    table = study_of(tmp_path).table()
    assert list(zip(table["checkpoint"], table["task"], strict=True)) == [
        ("mlm_40", "sst2"),
        ("mlm_40", "stsb"),
        ("clm", "sst2"),
        ("clm", "stsb"),
    ]
    assert list(table["metric"]) == ["accuracy", "spearman", "accuracy", "spearman"]


def test_a_cell_has_the_mean_and_the_student_t_interval_of_its_seeds(tmp_path):
    def make(run):
        return record_of(run, 0.5, 0.90 + run.seed / 100)

    cell = cell_of(study_of(tmp_path, make, seeds=(0, 1, 2, 3, 4)).table())
    assert cell["mean"] == pytest.approx(0.92)
    assert cell["half_width"] == pytest.approx(0.019632, abs=1e-6)
    assert cell["low"] == pytest.approx(0.900368, abs=1e-6)
    assert cell["high"] == pytest.approx(0.939632, abs=1e-6)
    assert (cell["n_ok"], cell["n_planned"]) == (5, 5)
    assert cell["interval"] == "Student t over seeds, 95 %"


def test_the_rate_is_chosen_on_validation_and_reported_on_test(tmp_path):
    study = study_of(tmp_path, by_rate((0.9, 0.5), (0.8, 0.99)))
    cell = cell_of(study.table())
    assert (cell["learning_rate"], cell["mean"]) == (1e-5, 0.5)
    assert cell["point"] == "learning_rate=1e-05"
    assert cell_of(study.table(split="validation"))["mean"] == pytest.approx(0.9)


def test_a_tie_goes_to_the_smaller_rate(tmp_path):
    study = study_of(tmp_path, by_rate((0.9, 0.5), (0.9, 0.99)))
    assert cell_of(study.table())["learning_rate"] == 1e-5


def test_a_rate_at_the_edge_of_the_grid_is_flagged(tmp_path):
    def make(run):
        rate = run.recipe.learning_rate
        score = {"mlm_40": -abs(rate - 1e-4), "clm": rate}[run.checkpoint.name]
        return record_of(run, score, 0.5)

    table = study_of(tmp_path, make, rates=(1e-5, 1e-4, 1e-3)).table()
    assert not cell_of(table, "mlm_40")["at_edge"]
    assert cell_of(table, "clm")["at_edge"]


def test_another_metric_is_reported_at_the_rate_of_the_main_one(tmp_path):
    def make(run):
        small = run.recipe.learning_rate == 1e-5
        accuracy, f1 = (0.9, 0.2) if small else (0.8, 0.7)
        scores = {"accuracy": accuracy, "f1": f1}
        return record_of(run, 0, 0, scores={"validation": scores, "test": scores})

    table = study_of(tmp_path, make, tasks=(SST2,)).table(metric="f1")
    assert cell_of(table)["learning_rate"] == 1e-5
    assert cell_of(table)["mean"] == pytest.approx(0.2)


def test_a_metric_leaves_out_the_tasks_that_do_not_have_it(tmp_path):
    assert set(study_of(tmp_path).table(metric="spearman")["task"]) == {"stsb"}


def test_one_rate_for_all_can_be_asked_for(tmp_path):
    study = study_of(tmp_path, by_rate((0.9, 0.5), (0.8, 0.6)))
    cell = cell_of(study.table(select=1e-4))
    assert (cell["learning_rate"], cell["mean"], cell["at_edge"]) == (1e-4, 0.6, False)
    assert cell["select"] == "one rate for all, learning_rate=0.0001"


def without_third_seed(run):
    """Diverge the third seed at the better rate 1e-4 of mlm_40 on sst2."""
    better = run.recipe.learning_rate == 1e-4
    if better and (run.checkpoint.name, run.task.name, run.seed) == ("mlm_40", "sst2", 2):
        return diverged(run, 5)
    return record_of(run, 0.9, 0.9) if better else record_of(run, 0.7, 0.7)


def test_a_rate_with_a_diverged_run_does_not_win(tmp_path):
    cell = cell_of(study_of(tmp_path, without_third_seed).table())
    assert (cell["learning_rate"], cell["n_ok"]) == (1e-5, 3)
    assert cell["mean"] == pytest.approx(0.7)


def test_a_rate_with_a_diverged_run_wins_when_asked_and_shows_its_count(tmp_path):
    cell = cell_of(study_of(tmp_path, without_third_seed).table(allow_incomplete=True))
    assert (cell["learning_rate"], cell["mean"]) == (1e-4, 0.9)
    assert (cell["n_ok"], cell["n_planned"]) == (2, 3)


def test_a_cell_without_a_complete_rate_is_absent_and_not_zero(tmp_path):
    def make(run):
        return None if run.seed == 2 else record_of(run, 0.9, 0.9)

    table = study_of(tmp_path, make).table()
    assert table[["mean", "low", "high", "half_width", "learning_rate"]].isna().all(axis=None)
    assert table[["at_edge", "collapsed", "point"]].isna().all(axis=None)
    assert set(table["n_ok"]) == {2}
    assert set(table["n_planned"]) == {3}


def test_a_study_without_records_has_a_table_of_absent_cells(tmp_path):
    table = study_of(tmp_path, lambda run: None).table()
    assert len(table) == 4
    assert table["mean"].isna().all()
    assert set(table["n_ok"]) == {0}


def test_a_single_seed_has_a_mean_without_an_interval(tmp_path):
    cell = cell_of(study_of(tmp_path, seeds=(0,)).table())
    assert cell["mean"] == 0.8
    assert cell[["low", "high", "half_width"]].isna().all()


def test_a_score_that_is_absent_is_not_counted(tmp_path):
    """A constant prediction has no Spearman correlation."""

    def make(run):
        scores = {"validation": {}, "test": {}} if run.seed == 0 else None
        changes = {"scores": scores, "collapsed": True} if scores else {}
        return record_of(run, 0.9, 0.9, **changes)

    cell = cell_of(study_of(tmp_path, make).table(), task="stsb")
    assert pd.isna(cell["mean"])
    assert (cell["n_ok"], cell["n_planned"]) == (2, 3)


def test_collapsed_runs_of_the_chosen_rate_are_counted(tmp_path):
    def make(run):
        return record_of(run, 0.9, 0.5, collapsed=run.seed > 0)

    assert set(study_of(tmp_path, make).table()["collapsed"]) == {2}


def test_every_rate_is_reported_without_a_choice(tmp_path):
    study = study_of(tmp_path, without_third_seed)
    rates = study.rates().set_index(["checkpoint", "task", "learning_rate"])
    assert len(rates) == 8
    incomplete = rates.loc[("mlm_40", "sst2", 1e-4)]
    assert incomplete["mean"] == pytest.approx(0.9)
    assert list(incomplete[["n_ok", "n_planned", "diverged", "failed"]]) == [2, 3, 1, 0]


def test_blocked_runs_are_counted_among_the_rates(tmp_path):
    def make(run):
        return record_of(run, 0, 0, status="blocked", scores={}, collapsed=None, source="f" * 16)

    rates = study_of(tmp_path, make).rates()
    assert set(rates["blocked"]) == {3}
    assert set(rates["failed"]) == {0}


def test_a_rate_without_any_good_run_is_absent_among_the_rates(tmp_path):
    study = study_of(tmp_path, lambda run: failed(run, "no"))
    assert study.rates()["mean"].isna().all()
    assert set(study.rates()["failed"]) == {3}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metric": "acuracy"}, "did you mean 'accuracy'"),
        ({"metric": "bleu"}, "it has accuracy, f1, spearman"),
        ({"split": "tests"}, "did you mean 'test'"),
        ({"select": 3e-5}, "it has 1e-05, 0.0001"),
        ({"select": "best"}, "nor 'per seed' nor a learning rate"),
    ],
)
def test_what_the_study_does_not_have_is_refused(tmp_path, asked, message):
    with pytest.raises(StudyError, match=message):
        study_of(tmp_path).table(**asked)


def test_runs_on_other_data_are_not_pooled(tmp_path):
    def make(run):
        other = {"splits": {"train": "1" * 16, "validation": "2" * 16, "test": "9" * 16}}
        return record_of(run, 0.9, 0.9, **(other if run.seed == 1 else {}))

    study = study_of(tmp_path, make, tasks=(SST2,), checkpoints=CHECKPOINTS[:1])
    with pytest.raises(StudyError) as caught:
        study.table()
    message = str(caught.value)
    assert "task 'sst2': the data of the test split differs" in message
    assert "3333333333333333 in" in message
    assert "9999999999999999 in" in message
    run_ids = {run.run_id for run in study.planned if run.seed == 1}
    assert all(run_id in message for run_id in run_ids)
    assert len(study.records) == 6


@pytest.mark.parametrize(("field", "value"), [("protocol", 0), ("precision", "bf16")])
def test_runs_under_another_protocol_or_precision_are_not_pooled(tmp_path, field, value):
    def make(run):
        return record_of(run, 0.9, 0.9, **({field: value} if run.seed == 1 else {}))

    with pytest.raises(StudyError, match=f"{field} differs"):
        study_of(tmp_path, make).table()


def test_a_failed_run_on_other_data_does_not_matter(tmp_path):
    def make(run):
        return failed(run, "no") | {"protocol": 0} if run.seed == 1 else record_of(run, 0.9, 0.9)

    assert len(study_of(tmp_path, make).table()) == 4
