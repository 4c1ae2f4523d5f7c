from __future__ import annotations

import math

import pytest

from harness.report import lay_out
from harness.report.layout import number_text
from harness.results import load_study
from tests.small_study import (
    CHECKPOINTS,
    SST2,
    STSB,
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


def layout_of(folder, make=None, asked=None, **changes):
    study = study_of(folder, make, **changes)
    return lay_out(study, study.table(**(asked or {})))


def texts(layout):
    return [[cell.text for cell in row] for row in layout.rows]


def best(layout):
    return [[cell.is_best for cell in row[1:]] for row in layout.rows]


def better_for_clm(run):
    return record_of(run, 0.8, 0.9 if run.checkpoint.name == "clm" else 0.8)


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (0.92, 0.019632, "0.920 ± 0.020"),
        (0.61234, 0.234, "0.61 ± 0.23"),
        (0.61234, 0.0996, "0.61 ± 0.10"),
        (0.61234, 0.00123, "0.6123 ± 0.0012"),
        (0.61234, 0.0000123, "0.612340 ± 0.000012"),
        (0.61234, 0.0000496, "0.612340 ± 0.000050"),
        (0.61234, 1e-17, "0.6123 ± <0.0001"),
        (0.61234, 1.3, "0.6 ± 1.3"),
        (0.5, 0.0, "0.5000 ± 0.0000"),
        (-0.0212, 0.05, "-0.021 ± 0.050"),
        (0.61234, math.nan, "0.612"),
    ],
)
def test_numbers_have_the_digits_that_their_interval_supports(mean, half_width, text):
    assert number_text(mean, half_width) == text


def test_a_row_is_a_checkpoint_and_a_column_is_a_task_with_its_metric(tmp_path):
    def make(run):
        return record_of(run, 0.5, 0.90 + run.seed / 100)

    layout = layout_of(tmp_path, make, seeds=(0, 1, 2, 3, 4), rates=(1e-5,))
    assert layout.header == ("checkpoint", "sst2 (accuracy)", "stsb (spearman)")
    assert texts(layout) == [
        ["mlm_40", "0.920 ± 0.020 (5/5)", "0.920 ± 0.020 (5/5)"],
        ["clm", "0.920 ± 0.020 (5/5)", "0.920 ± 0.020 (5/5)"],
    ]
    assert layout.notes == ()


def test_the_best_of_a_column_is_marked(tmp_path):
    assert best(layout_of(tmp_path, better_for_clm)) == [[False, False], [True, True]]


def test_where_lower_is_better_the_lowest_is_marked(tmp_path):
    def make(run):
        record = better_for_clm(run)
        value = record["scores"]["test"][run.task.main_metric]
        test = record["scores"]["test"] | {"log_loss": value}
        return record | {"scores": record["scores"] | {"test": test}}

    layout = layout_of(tmp_path, make, asked={"metric": "log_loss"}, tasks=(SST2,))
    assert best(layout) == [[True], [False]]


def test_equal_bests_are_all_marked(tmp_path):
    assert best(layout_of(tmp_path)) == [[True, True], [True, True]]


def test_a_single_checkpoint_is_best_of_nothing(tmp_path):
    assert best(layout_of(tmp_path, checkpoints=CHECKPOINTS[:1])) == [[False, False]]


def test_an_absent_cell_is_a_dash_with_its_count_and_its_column_is_not_ranked(tmp_path):
    def make(run):
        is_last = (run.checkpoint.name, run.task.name, run.seed) == ("mlm_40", "sst2", 2)
        return None if is_last else better_for_clm(run)

    layout = layout_of(tmp_path, make)
    assert layout.rows[0][1].text == "— (2/3)"
    assert best(layout) == [[False, False], [False, True]]
    assert layout.notes == (
        "not ranked, as means are absent or numbers of runs differ: sst2",
        "2 runs not run yet",
    )


def test_cells_of_different_counts_are_not_ranked_when_incomplete_ones_are_allowed(tmp_path):
    def make(run):
        return None if run.seed == 2 and run.checkpoint.name == "clm" else better_for_clm(run)

    layout = layout_of(tmp_path, make, asked={"allow_incomplete": True}, tasks=(SST2,))
    assert texts(layout)[1][1] == "0.9000 ± 0.0000 (2/3)†"
    assert best(layout) == [[False], [False]]
    assert "over the good runs where some are missing" in layout.caption


def test_edge_rates_and_collapsed_runs_are_marked_and_explained(tmp_path):
    def make(run):
        return record_of(run, 0.8, 0.8, collapsed=run.task.name == "stsb")

    layout = layout_of(tmp_path, make)
    assert texts(layout)[0][1:] == ["0.8000 ± 0.0000 (3/3)†", "0.8000 ± 0.0000 (3/3)†‡"]
    assert "† the chosen rate is the smallest or largest of the grid." in layout.caption
    assert "‡ some of these runs say the same of every example." in layout.caption


def test_marks_that_no_cell_has_are_not_explained(tmp_path):
    layout = layout_of(tmp_path, rates=(1e-4,))
    assert "†" not in layout.caption
    assert "‡" not in layout.caption


def test_the_caption_says_interval_split_and_choice(tmp_path):
    caption = layout_of(tmp_path, asked={"confidence": 0.9}).caption
    assert "Mean on the test split" in caption
    assert "Student t over seeds, 90 %: what other seeds would give" in caption
    assert "best mean validation score" in caption


@pytest.mark.parametrize(
    ("interval", "varies"),
    [
        ("Student t over seeds", "what other seeds would give, on the same test examples"),
        ("seeds and examples", "what other seeds and other test examples would give"),
        (
            "seeds, examples and the choice of the rate",
            "what other seeds and other examples would give, with the rate chosen anew",
        ),
    ],
)
def test_the_caption_says_what_varies_in_the_interval(tmp_path, interval, varies):
    study = study_of(tmp_path)
    table = study.table().assign(interval=f"{interval}, 95 %")
    assert f"({interval}, 95 %: {varies})" in lay_out(study, table).caption


def test_the_caption_names_the_rate_that_was_fixed(tmp_path):
    caption = layout_of(tmp_path, asked={"select": 1e-4}).caption
    assert "One rate for all, learning_rate=0.0001." in caption


def test_the_caption_says_how_rates_were_chosen_though_the_first_cell_had_but_one(tmp_path):
    study = study_of(tmp_path)
    table = study.table()
    table.loc[0, "select"] = "one point, nothing to choose"
    assert "best mean validation score" in lay_out(study, table).caption


def test_notes_say_what_was_skipped_what_failed_and_what_diverged(tmp_path):
    def make(run):
        if run.checkpoint.name == "clm" and run.task.name == "stsb":
            if run.recipe.learning_rate == 1e-4:
                return diverged(run, run.seed + 1)
            if run.seed == 0:
                return failed(run, "no room left")
        return record_of(run, 0.8, 0.8)

    skipped = ({"name": "broken", "reason": "no tokenizer.json"},)
    assert layout_of(tmp_path, make, skipped=skipped).notes == (
        "skipped: broken: no tokenizer.json",
        "not ranked, as means are absent or numbers of runs differ: stsb",
        "clm, stsb: 1 run failed: RunError: no room left (learning rate 1e-05)",
        "clm, stsb: 3 runs diverged (learning rate 0.0001)",
    )


def test_notes_say_which_good_runs_have_no_score(tmp_path):
    def make(run):
        bare = {"scores": {"validation": {}, "test": {}}} if run.seed == 0 else {}
        return record_of(run, 0.8, 0.8, **bare)

    layout = layout_of(tmp_path, make, tasks=(STSB,), checkpoints=CHECKPOINTS[:1])
    assert texts(layout) == [["mlm_40", "— (2/3)"]]
    assert layout.notes == ("mlm_40, stsb: 2 runs without a test spearman",)


def test_notes_say_which_runs_have_no_validation_score_to_choose_by(tmp_path):
    def make(run):
        record = record_of(run, 0.8, 0.8)
        is_blind = run.checkpoint.name == "clm"
        return record | ({"scores": {"test": {"accuracy": 0.8}}} if is_blind else {})

    layout = layout_of(tmp_path, make, tasks=(SST2,))
    assert texts(layout)[1] == ["clm", "— (0/3)"]
    assert layout.notes[1:] == (
        "clm, sst2: 6 runs without a validation accuracy to choose the learning rate by",
    )


def test_many_notes_are_cut_and_counted(tmp_path):
    def make(run):
        return failed(run, f"fault {run.run_id}")

    notes = layout_of(tmp_path, make).notes
    assert len(notes) == 22
    assert notes[-1] == "and 4 more such notes; `Study.missing` has every run"


def test_a_study_without_records_is_laid_out_too(tmp_path):
    layout = layout_of(tmp_path, lambda run: None)
    assert texts(layout) == [["mlm_40", "— (0/3)", "— (0/3)"], ["clm", "— (0/3)", "— (0/3)"]]
    assert layout.notes[-1] == "24 runs not run yet"


def test_every_rate_is_a_row_of_its_own_and_nothing_is_marked_best(tmp_path):
    study = study_of(tmp_path, better_for_clm, tasks=(SST2,))
    layout = lay_out(study, study.rates())
    assert layout.header == ("checkpoint", "point", "sst2 (accuracy)")
    assert texts(layout)[0] == ["mlm_40", "learning_rate=1e-05", "0.8000 ± 0.0000 (3/3)"]
    assert len(layout.rows) == 4
    assert not any(cell.is_best for row in layout.rows for cell in row)
    assert "Every point, without a choice" in layout.caption


def test_a_point_that_a_task_does_not_have_is_blank(tmp_path):
    recipes = small_grid().recipes
    study = study_of(tmp_path, recipes={"sst2": recipes["sst2"], "stsb": recipes["stsb"][:1]})
    assert [row[3] for row in texts(lay_out(study, study.rates()))][:2] == [
        "0.810 ± 0.025 (3/3)",
        "",
    ]
