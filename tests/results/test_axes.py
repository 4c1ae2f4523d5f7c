from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.errors import StudyError
from harness.ledger import LedgerWriter
from harness.predictions import predictions_path, read_predictions, write_predictions
from harness.results import PER_SEED, load_study
from harness.results.examples import Drawn, ExampleScores
from harness.spec import Recipe
from harness.stats import resample_examples
from tests.results.example_study import BETTER, FAIR, SEEDS, study_of
from tests.results.test_comparing import MEANS, recipes_study
from tests.small_study import (
    CHECKPOINTS,
    SST2,
    checkpoint_named,
    failed,
    record_of,
    records_of,
    small_grid,
    write_study,
)


def test_kinds_average_their_tasks_and_rows_average_checkpoints(tmp_path):
    table = recipes_study(tmp_path, MEANS).table(by=["objective", "kind"])
    assert list(table.columns[:3]) == ["objective", "kind", "metric"]
    cell = table.set_index(["objective", "kind"]).loc[("clm", "sequence_classification")]
    assert cell["mean"] == pytest.approx(0.615)
    assert (cell["checkpoints"], cell["tasks"], cell["n_ok"], cell["n_planned"]) == (3, 1, 6, 6)


def test_the_interval_of_a_mean_of_fixed_cells_adds_their_variances(tmp_path):
    """Three checkpoints, two seeds each that differ by 0.01: s² / 2 of each, Satterthwaite."""
    table = recipes_study(tmp_path, MEANS).table(by=["objective", "kind"])
    variance = 3 * (0.01**2 / 2 / 2) / 9
    half = 3.182446 * np.sqrt(variance)
    assert table["half_width"].iloc[0] == pytest.approx(half, rel=1e-5)


def test_a_group_with_an_absent_cell_is_absent(tmp_path):
    grid = small_grid(rates=(1e-5,))

    def make(run):
        is_hole = run.task.name == SST2.name and run.seed == 0 and run.checkpoint.name == "clm"
        return None if is_hole else record_of(run, 0.8, 0.8)

    study = load_study(write_study(tmp_path, grid, records_of(grid, make)))
    table = study.table(by=["attention", "task"]).set_index("task")
    assert np.isnan(table.loc["sst2", "mean"])
    assert (table.loc["sst2", "n_ok"], table.loc["sst2", "n_planned"]) == (5, 6)
    assert table.loc["stsb", "mean"] == pytest.approx(0.8)


def test_rates_can_be_grouped_too(tmp_path):
    table = recipes_study(tmp_path, MEANS).table(by=["learning_rate", "objective", "kind"])
    assert set(table["learning_rate"]) == {1e-5}
    assert "select" not in table
    assert len(table) == 4


def test_an_unknown_axis_is_refused(tmp_path):
    with pytest.raises(StudyError, match="column 'sise'; there are"):
        recipes_study(tmp_path, MEANS).table(by="sise")


def test_runs_can_be_filtered_by_any_column(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    kept = study.where(objective="clm", task=["sst2"], learning_rate="1e-5")
    assert {run.checkpoint.name for run in kept.planned} == {"a1", "a2", "a3"}
    assert len(kept.planned) == len(kept.records) == 6
    assert len(study.without(objective="clm").planned) == 12
    assert study.where(attention="native", seed=0).table()["n_planned"].max() == 1
    with pytest.raises(StudyError, match="did you mean 'objective'"):
        study.where(objectiv="clm")
    with pytest.raises(StudyError, match="no run has objective=rtd; there is clm, mlm"):
        study.where(objective="rtd")


def test_frames_have_the_columns_of_the_checkpoints(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    for frame in (study.records, study.scores):
        assert dict(zip(frame["checkpoint"], frame["objective"], strict=True)) == dict(MEANS.keys())
    assert "objective" in study.missing


def test_per_seed_takes_the_best_rate_of_each_seed(tmp_path):
    grid = small_grid(tasks=(SST2,), checkpoints=CHECKPOINTS[:1], seeds=(0, 1))

    def make(run):
        small = run.recipe.learning_rate == 1e-5
        return record_of(run, 0.9 if small == (run.seed == 0) else 0.1, 0.5 + run.seed / 10)

    study = load_study(write_study(tmp_path, grid, records_of(grid, make)))
    cell = study.table(select=PER_SEED).iloc[0]
    assert cell["mean"] == pytest.approx(0.55)
    assert pd.isna(cell["learning_rate"])
    assert cell["select"] == PER_SEED


def test_per_seed_no_seed_chooses_among_fewer_rates_than_another(tmp_path):
    grid = small_grid(tasks=(SST2,), checkpoints=CHECKPOINTS[:1])

    def make(run):
        if run.recipe.learning_rate == 1e-5:
            return record_of(run, 0.7, 0.7)
        return failed(run, "no") if run.seed == 2 else record_of(run, 0.9, 0.9)

    study = load_study(write_study(tmp_path, grid, records_of(grid, make)))
    cell = study.table(select=PER_SEED).iloc[0]
    assert (cell["mean"], cell["n_ok"], cell["n_planned"]) == (pytest.approx(0.7), 3, 3)
    cell = study.table(select=PER_SEED, allow_incomplete=True).iloc[0]
    assert cell["mean"] == pytest.approx((0.9 + 0.9 + 0.7) / 3)


def test_an_interval_over_seeds_and_examples_is_wider_than_over_seeds(tmp_path):
    study = study_of(tmp_path, BETTER)
    seeds, both = (study.table(interval=kind)["half_width"] for kind in ("seeds", "both"))
    assert (both > seeds).all()
    assert study.table(interval="both")["half_width"].equals(both)
    assert list(study.table(interval="nested")["half_width"]) == pytest.approx(list(both), rel=0.02)


@pytest.mark.parametrize("asked", [{"select": 1e-4}, {"by": "learning_rate"}, {"select": PER_SEED}])
def test_without_a_choice_by_the_mean_nothing_is_nested(tmp_path, asked):
    """The chosen rate's score must not stand where another rate's was asked for."""
    study = study_of(tmp_path, BETTER, rates=(1e-5, 1e-4))
    table, plain = study.table(interval="nested", **asked), study.table(**asked)
    assert list(table["mean"]) == pytest.approx(list(plain["mean"]), abs=1e-12)
    assert table["half_width"].isna().all()
    assert set(table["interval"]) == {
        "none: nested needs a rate chosen by the mean validation score of several seeds"
    }


def test_a_cell_with_an_undefined_validation_score_has_no_nested_interval(tmp_path):
    study = study_of(tmp_path, BETTER, rates=(1e-5, 1e-4))
    run = next(run for run in study.planned if run.recipe.learning_rate == 1e-4)
    study.latest[run.run_id]["scores"]["validation"] = {}
    cells = study.table(interval="nested").set_index("checkpoint")
    assert np.isfinite(cells["mean"]).all()
    assert cells.loc[run.checkpoint.name, "interval"].startswith("none: nested needs all runs")
    other = next(name for name in cells.index if name != run.checkpoint.name)
    assert cells.loc[other, "half_width"] > 0


def test_two_checkpoints_that_answer_alike_are_as_unsure_as_one(tmp_path):
    """They answer the same examples: their mean does not halve what examples do to it."""
    study = study_of(tmp_path, {(name, seed): FAIR for name in ("mlm_40", "clm") for seed in SEEDS})
    alone = study.table(interval="both")["half_width"]
    group = study.table(by="attention", interval="both")["half_width"]
    assert group.iloc[0] == pytest.approx(alone.iloc[0], rel=0.01)


def test_cells_of_different_numbers_of_runs_weigh_the_same_on_every_draw():
    """Cells of one run and of two: by runs the second would weigh double."""
    right = np.random.default_rng(0).integers(2, size=(3, 40)).astype(float)
    drawn = resample_examples(right, np.random.default_rng(1), replicates=50)
    examples = ExampleScores(("x", "y", "z"), np.arange(40).astype(object), "mean", right)
    cells = Drawn(drawn, {"x": 0, "y": 1, "z": 2}, examples).means_of([["x"], ["y", "z"]])
    weights = np.array([0.5, 0.25, 0.25])
    assert cells.scores_R.mean() == pytest.approx(weights @ drawn.scores_R)
    assert cells.replicates_RB.mean(axis=0) == pytest.approx(
        weights @ drawn.replicates_RB, abs=1e-6
    )


def test_a_cell_whose_examples_differ_has_a_mean_and_no_interval(tmp_path):
    table = study_of(tmp_path, BETTER, ids={2: "other-"}).table(interval="both")
    assert np.isfinite(table["mean"]).all()
    assert table["half_width"].isna().all()
    assert table["interval"].str.startswith("none: sst2: runs").all()


def test_lost_or_other_predictions_of_one_cell_cost_no_other_cell_its_interval(tmp_path):
    study = study_of(tmp_path, BETTER)
    before = study.table(interval="both").set_index("checkpoint")
    lost = next(run for run in study.planned if run.checkpoint.name == "clm")
    predictions_path(tmp_path, lost.run_id).unlink()
    table = load_study(tmp_path).table(interval="both").set_index("checkpoint")
    assert table.loc["mlm_40"].equals(before.loc["mlm_40"])
    assert table.loc["clm", "mean"] == before.loc["clm", "mean"]
    assert np.isnan(table.loc["clm", "half_width"])
    assert lost.run_id in table.loc["clm", "interval"]
    group = load_study(tmp_path).table(by="attention", interval="both").iloc[0]
    assert np.isfinite(group["mean"])
    assert lost.run_id in group["interval"]


def test_checkpoints_of_other_examples_have_intervals_but_none_together(tmp_path):
    study = study_of(tmp_path, BETTER)
    before = study.table(interval="both")
    for run in study.planned:
        if run.checkpoint.name == "clm":
            frame = read_predictions(tmp_path, run.run_id)
            write_predictions(tmp_path, run.run_id, frame.assign(id="other-" + frame["id"]))
    other = load_study(tmp_path)
    assert other.table(interval="both")["half_width"].equals(before["half_width"])
    group = other.table(by="attention", interval="both").iloc[0]
    assert group["interval"] == "none: sst2: its checkpoints are not of the same test examples"
    assert np.isnan(group["half_width"])


def two_studies(tmp_path, first, second):
    grids = [small_grid(**(changes | {"tasks": (SST2,)})) for changes in (first, second)]
    folders = [tmp_path / "one", tmp_path / "two"]
    return [
        write_study(folder, grid, records_of(grid))
        for folder, grid in zip(folders, grids, strict=True)
    ]


def test_studies_are_merged_and_a_run_of_both_counts_once(tmp_path):
    folders = two_studies(tmp_path, {}, {"rates": (1e-4, 1e-3)})
    study = load_study(folders)
    assert len(study.planned) == len(study.records) == 18
    assert set(study.rates()["learning_rate"]) == {1e-5, 1e-4, 1e-3}
    assert "18 of 18" in repr(study)


def test_more_seeds_of_one_rate_in_a_second_study_do_not_make_it_win(tmp_path):
    def by_rate(run):
        score = {1e-5: 0.7, 1e-4: 0.8}[run.recipe.learning_rate]
        return record_of(run, score, score)

    for name, changes in (("one", {}), ("two", {"rates": (1e-5,), "seeds": (3, 4)})):
        grid = small_grid(tasks=(SST2,), **changes)
        write_study(tmp_path / name, grid, records_of(grid, by_rate))
    study = load_study([tmp_path / "one", tmp_path / "two"])
    cell = study.table().iloc[0]
    assert (cell["learning_rate"], cell["n_ok"], cell["n_planned"]) == (1e-4, 3, 3)
    cell = study.table(select=1e-5).iloc[0]
    assert (cell["mean"], cell["n_ok"], cell["n_planned"]) == (pytest.approx(0.7), 5, 5)


def precisions_study(tmp_path):
    """Read two studies of the same checkpoints, in fp32 and in bf16."""
    fp32, bf16 = (
        {"recipes": {"sst2": (Recipe(learning_rate=1e-5, max_steps=10, precision=precision),)}}
        for precision in ("fp32", "bf16")
    )
    return load_study(two_studies(tmp_path, fp32, bf16))


def test_another_precision_is_a_row_of_its_own(tmp_path):
    table = precisions_study(tmp_path).table()
    assert list(table["checkpoint"]) == [
        "mlm_40 [precision=fp32]",
        "clm [precision=fp32]",
        "mlm_40 [precision=bf16]",
        "clm [precision=bf16]",
    ]
    assert set(table["n_planned"]) == {3}


@pytest.mark.parametrize(
    "ask",
    [
        lambda study: study.table(by="attention"),
        lambda study: study.table(by=["learning_rate", "attention"]),
        lambda study: study.variance(),
        lambda study: study.seeds_needed(0.01),
    ],
)
def test_rows_of_another_precision_are_not_averaged(tmp_path, ask):
    with pytest.raises(StudyError, match=r"differ in precision, .*\(--where precision=VALUE\)"):
        ask(precisions_study(tmp_path))


def test_a_checkpoint_that_is_read_in_two_ways_is_not_two_checkpoints(tmp_path):
    causal = CHECKPOINTS[0].model_copy(update={"attention": "causal"})
    folders = two_studies(tmp_path, {"checkpoints": CHECKPOINTS}, {"checkpoints": (causal,)})
    study = load_study(folders)
    with pytest.raises(StudyError, match="differ in attention, so they are not taken together"):
        study.table(by="pooling")
    table = study.table(by="attention").set_index("attention")
    assert list(table["checkpoints"]) == [2, 1]


def test_another_attention_is_a_row_of_its_own(tmp_path):
    causal = CHECKPOINTS[0].model_copy(update={"attention": "causal"})
    folders = two_studies(tmp_path, {"checkpoints": CHECKPOINTS[:1]}, {"checkpoints": (causal,)})
    assert list(load_study(folders).table()["checkpoint"]) == [
        "mlm_40 [attention=native]",
        "mlm_40 [attention=causal]",
    ]


def test_other_checkpoints_or_cards_of_one_name_are_refused(tmp_path):
    other = checkpoint_named("clm", "c" * 16)
    folders = two_studies(tmp_path, {}, {"checkpoints": (other,)})
    with pytest.raises(StudyError, match="checkpoint 'clm' is not the same in"):
        load_study(folders)
    card = SST2.model_copy(update={"max_length": 64})
    grid = small_grid(tasks=(card,))
    write_study(tmp_path / "three", grid)
    with pytest.raises(StudyError, match="task 'sst2' is not the same in"):
        load_study([folders[0], tmp_path / "three"])


def test_other_data_in_a_second_study_is_refused(tmp_path):
    one, two = small_grid(tasks=(SST2,)), small_grid(tasks=(SST2,), seeds=(3, 4))
    splits = {"train": "1" * 16, "validation": "2" * 16, "test": "9" * 16}
    write_study(tmp_path / "one", one, records_of(one))
    write_study(
        tmp_path / "two", two, records_of(two, lambda run: record_of(run, 0.5, 0.5, splits=splits))
    )
    with pytest.raises(StudyError, match="the data of the test split differs"):
        load_study([tmp_path / "one", tmp_path / "two"]).table()


def test_of_a_run_that_two_studies_have_the_predictions_are_those_of_the_record_that_counts(
    tmp_path,
):
    older = study_of(tmp_path / "older", dict.fromkeys(BETTER, FAIR))
    newer = study_of(tmp_path / "newer", BETTER)
    with LedgerWriter(tmp_path / "newer") as ledger:
        for record in newer.latest.values():
            later = {"finished": "2025-06-02T03:04:07.250000+00:00"}
            ledger.append({k: v for k, v in record.items() if k != "writer"} | later)
    both = load_study([tmp_path / "older", tmp_path / "newer"])
    table = both.table(interval="both")
    assert table["half_width"].equals(newer.table(interval="both")["half_width"])
    run = older.planned[0].run_id
    assert both.predictions(run).equals(newer.predictions(run))
    assert not both.predictions(run).equals(older.predictions(run))
