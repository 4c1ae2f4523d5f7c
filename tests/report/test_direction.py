from __future__ import annotations

import pytest

from harness.report import lay_out, lay_out_comparison, lay_out_matrix, lay_out_sensitivity
from harness.report.captions import lower_text
from harness.report.figures import draw_cells, draw_comparison, draw_curves
from harness.results import ALL_TASKS
from tests.results.loss_study import both_ways, study_of_checkpoints
from tests.small_study import SST2

LOSSES = {"worst": 0.60, "best": 0.20, "next": 0.21}
SAID = "Lower is better: log_loss."


@pytest.fixture
def study(tmp_path):
    tasks = (SST2, SST2.model_copy(update={"name": "cola"}))
    return study_of_checkpoints(tmp_path, LOSSES, tasks=tasks)


def texts(layout):
    return [[cell.text for cell in row] for row in layout.rows]


def test_metrics_that_are_better_when_lower_are_named_and_others_are_not():
    assert lower_text(["accuracy", "log_loss", "ece"]) == ["Lower is better: log_loss, ece."]
    assert lower_text(["accuracy"]) == []


def test_the_lowest_loss_is_marked_and_what_is_tied_with_it(study):
    tied = {(name, row.task) for row in study.best("log_loss").itertuples() for name in row.tied}
    layout = lay_out(study, study.table("log_loss"), tied)
    assert texts(layout)[1:] == [
        ["best", *["0.200 ± 0.025 (3/3)"] * 2],
        ["next", *["0.210 ± 0.025 (3/3)°"] * 2],
    ]
    assert [row[1].is_best for row in layout.rows] == [False, True, False]
    assert SAID in layout.caption
    assert "Best: smallest mean of a column" in layout.caption


def test_the_mean_of_losses_over_tasks_is_best_when_lowest(study):
    layout = lay_out(study, study.table("log_loss", by=["checkpoint", "kind"]))
    assert [row[1].is_best for row in layout.rows] == [False, True, False]
    assert SAID in layout.caption


def test_a_table_of_accuracies_says_nothing_of_lower(study):
    caption = lay_out(study, study.table()).caption
    assert "Lower" not in caption
    assert "Best: largest mean of a column" in caption


def test_where_only_some_metrics_are_better_when_lower_each_column_has_its_own_best(tmp_path):
    study = both_ways(tmp_path)
    layout = lay_out(study, study.table())
    assert layout.header == ("checkpoint", "sst2 (accuracy)", "cola (log_loss)")
    assert [[cell.is_best for cell in row] for row in layout.rows] == [
        [False, True, True],
        [False, False, False],
    ]
    assert "Best: largest (where lower is better, smallest) mean" in layout.caption


def test_a_mean_over_an_accuracy_and_a_loss_has_no_best(tmp_path):
    study = both_ways(tmp_path)
    layout = lay_out(study, study.table(by=["checkpoint", "kind"]))
    assert not any(cell.is_best for row in layout.rows for cell in row)
    assert layout.notes == (
        "not ranked, as lower is better for some of them only: means over accuracy, log_loss",
    )


def test_a_matrix_of_losses_begins_with_the_lowest_and_keeps_row_minus_column(study):
    pairs = study.compare_all("log_loss", interval="seeds")
    for task in ("cola", ALL_TASKS):
        layout = lay_out_matrix(pairs[pairs["task"] == task])
        assert layout.header == ("checkpoint", "mean", "groups", "best", "next", "worst")
        assert texts(layout) == [
            ["best", "0.200", "a", "", "-0.010", "-0.400"],
            ["next", "0.210", "a", "+0.010", "", "-0.390"],
            ["worst", "0.600", "b", "+0.400", "+0.390", ""],
        ]
        assert layout.caption.endswith(SAID)


def test_a_comparison_of_losses_says_which_sign_is_better(study):
    layout = lay_out_comparison(study.compare("best", "worst", "log_loss", interval="seeds"))
    assert texts(layout)[0][:5] == [
        "sst2 (log_loss)",
        "0.200",
        "0.600",
        "-0.400",
        "-0.423 to -0.377",
    ]
    assert texts(layout)[0][7].startswith("100 %")
    assert f"{SAID} There best is better where the difference is below 0." in layout.caption


def test_sensitivity_says_that_lower_is_better(study):
    layout = lay_out_sensitivity(study.sensitivity("log_loss"))
    assert texts(layout)[0][:3] == ["worst", "sst2 (log_loss)", "0.600"]
    assert layout.caption.endswith(SAID)


def test_figures_of_losses_say_so(study):
    charts = [
        draw_cells(study.table("log_loss")),
        draw_curves(study.rates("log_loss"), "learning_rate"),
        draw_comparison(study.compare("best", "worst", "log_loss", interval="seeds")),
    ]
    assert [SAID in chart.to_dict()["title"]["subtitle"] for chart in charts] == [True] * 3
    plain = draw_cells(study.table()).to_dict()["title"]["subtitle"]
    assert not any("Lower" in line for line in plain)
