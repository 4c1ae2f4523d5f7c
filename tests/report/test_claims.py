from __future__ import annotations

import json

import pandas as pd
import pytest

from harness.report import (
    lay_out,
    lay_out_comparison,
    lay_out_matrix,
    lay_out_sensitivity,
    to_json,
)
from harness.report.claims import p_text
from tests.results.test_comparing import MEANS, recipes_study


def texts(layout):
    return [[cell.text for cell in row] for row in layout.rows]


def test_a_comparison_says_what_was_resampled_and_how_it_was_corrected(tmp_path):
    frame = recipes_study(tmp_path, MEANS).compare("a1", "b1", interval="seeds")
    layout = lay_out_comparison(frame)
    assert layout.header[:3] == ("task", "a1", "b1")
    assert layout.header[6] == "p (Holm)"
    # Means 0.605 and 0.705; each side spreads by 0.01 / sqrt(2) over two seeds.
    assert texts(layout)[0][:5] == [
        "sst2 (accuracy)",
        "0.605",
        "0.705",
        "-0.100",
        "-0.130 to -0.070",
    ]
    assert "with 95 % intervals over seeds." in layout.caption
    assert "needs several checkpoints of each recipe" in layout.notes[0]


def test_a_comparison_of_recipes_needs_no_such_note_and_marks_what_is_told_apart(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    frame = study.compare("objective=mlm", "objective=clm", correction="bh", confidence=0.9)
    layout = lay_out_comparison(frame)
    assert layout.notes == ()
    assert layout.header[6] == "p (Benjamini-Hochberg)"
    assert [cell.is_best for cell in layout.rows[0]].index(True) == 3
    assert "with 90 % intervals over checkpoints" in layout.caption


@pytest.mark.parametrize(("corrected", "is_marked"), [(0.04, True), (0.06, False)])
def test_what_is_told_apart_is_so_by_the_corrected_p(tmp_path, corrected, is_marked):
    frame = recipes_study(tmp_path, MEANS).compare("a1", "b1", interval="seeds")
    layout = lay_out_comparison(frame.assign(p=0.03, p_corrected=corrected))
    assert {row[3].is_best for row in layout.rows} == {is_marked}


def test_seeds_that_do_not_vary_have_no_p_and_are_not_marked(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    for record in study.latest.values():
        is_a = record["checkpoint"] == "a1"
        record["scores"]["test"] = {record["main_metric"]: 0.9 if is_a else 0.8}
    layout = lay_out_comparison(study.compare("a1", "b1", interval="seeds"))
    assert {row[5].text for row in layout.rows} == {"—"}
    assert not any(cell.is_best for row in layout.rows for cell in row)
    assert layout.notes[-1].startswith("no p, as nothing varies")


def test_a_matrix_is_sorted_and_antisymmetric(tmp_path):
    pairs = recipes_study(tmp_path, MEANS).compare_all(interval="seeds")
    layout = lay_out_matrix(pairs[pairs["task"] == "sst2"])
    rows = texts(layout)
    assert [row[0] for row in rows] == ["b2", "b3", "b1", "a2", "a3", "a1"]
    assert rows[0][4] == "+0.020"
    assert rows[1][3] == "-0.020"
    assert rows[0][3] == ""


def test_a_matrix_says_its_family_and_writes_the_digits_that_its_intervals_support(tmp_path):
    pairs = recipes_study(tmp_path, MEANS).compare_all(interval="seeds")
    layout = lay_out_matrix(pairs[pairs["task"] == "sst2"])
    assert "by Holm over all pairs and tasks." in layout.caption
    together = lay_out_matrix(pairs[pairs["task"] == "(all tasks)"])
    assert "by Holm over all pairs." in together.caption
    wide = pairs.assign(low=pairs["low"] - 2, high=pairs["high"] + 2)
    assert texts(lay_out_matrix(wide[wide["task"] == "sst2"]))[0][3:5] == ["", "+0.0"]


def test_no_difference_has_no_minus():
    pairs = pd.DataFrame(
        [("x", "y", "sst2", "accuracy", 0.8, 0.8, 0.0, -0.05, 0.05, 1.0, "seeds", "holm")],
        columns=[
            "a", "b", "task", "metric", "mean_a", "mean_b", "difference", "low", "high",
            "p_corrected", "resampled", "correction",
        ],
    )  # fmt: skip
    assert [row[3:] for row in texts(lay_out_matrix(pairs))] == [["", "+0.000"], ["+0.000", ""]]


def holes_study(folder):
    """Make a study in which a1 lacks a run of stsb."""
    study = recipes_study(folder, MEANS)
    hole = next(run for run in study.planned if run.task.name == "stsb")
    study.latest.pop(hole.run_id)
    return study


def test_a_task_that_is_not_compared_is_named(tmp_path):
    study = holes_study(tmp_path)
    frame = study.compare("a1", "b1", interval="seeds")
    assert list(frame["task"]) == ["sst2"]
    assert lay_out_comparison(frame, study.tasks).notes[1:] == (
        "left out, for want of a learning rate with all runs good, or of the metric: stsb",
    )
    whole = study.compare("a2", "b1", interval="seeds")
    assert len(lay_out_comparison(whole, study.tasks).notes) == 1


def test_a_checkpoint_that_is_not_compared_is_named(tmp_path):
    study = holes_study(tmp_path)
    pairs = study.compare_all(interval="seeds")
    layout = lay_out_matrix(pairs[pairs["task"] == "(all tasks)"], study.checkpoints)
    assert layout.notes == (
        "left out, for want of a learning rate with all runs good, or of the metric: a1",
    )
    whole = lay_out_matrix(pairs[pairs["task"] == "sst2"], study.checkpoints)
    assert whole.notes == ()


def test_pairs_over_different_tasks_have_no_one_mean(tmp_path):
    pairs = recipes_study(tmp_path, MEANS).compare_all(interval="seeds")
    of_task = pairs[pairs["task"] == "(all tasks)"]
    # As if one more task were compared in the pairs of a1 alone.
    other = of_task.assign(mean_b=of_task["mean_b"] + 0.1 * (of_task["a"] == "a1"))
    layout = lay_out_matrix(other)
    assert {row[1] for row in texts(layout)} == {"—"}
    assert layout.notes[0].startswith("the pairs are over different tasks")
    assert lay_out_matrix(of_task).notes == ()


def test_sensitivity_has_a_row_for_all_tasks(tmp_path):
    rows = texts(lay_out_sensitivity(recipes_study(tmp_path, MEANS).sensitivity()))
    assert rows[0][:3] == ["a1", "sst2 (accuracy)", "0.605"]
    assert rows[0][3] == "—"  # one rate has no range
    assert rows[12][:2] == ["a1", "(all tasks)"]
    assert [rows[0][9], rows[12][9]] == ["2/2", "4/4"]


def test_groups_have_a_row_for_each_value_and_a_column_for_each_kind(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    layout = lay_out(study, study.table(by=["objective", "kind"]))
    assert layout.header == (
        "objective",
        "sequence_classification (accuracy)",
        "sequence_regression (spearman)",
    )
    assert texts(layout)[0][0] == "clm"
    assert texts(layout)[0][1].endswith("(6/6)")
    assert "take these as fixed" in layout.caption


def test_those_that_are_tied_with_the_best_are_marked(tmp_path):
    study = recipes_study(tmp_path, MEANS)
    layout = lay_out(study, study.table(), tied={("b3", "sst2")})
    column = {row[0].text: row[1] for row in layout.rows}
    assert column["b2"].is_best
    assert column["b3"].text.endswith("°")
    assert not column["b1"].text.endswith("°")
    assert "° not told apart from the best" in layout.caption


@pytest.mark.parametrize(
    ("p", "text"), [(0.04999, "0.050"), (0.0004, "<0.001"), (1.0, "1.000"), (float("nan"), "—")]
)
def test_p_is_written_with_three_decimals(p, text):
    assert p_text(p) == text


def test_json_has_null_for_what_is_absent(tmp_path):
    frame = recipes_study(tmp_path, MEANS).sensitivity()
    assert '"range":null' in to_json(frame).replace(" ", "")


def test_json_keeps_a_small_p_apart_from_zero():
    p_values = [3e-15, 1e-20, 0.012345678901234]
    written = json.loads(to_json(pd.DataFrame({"p": p_values})))
    assert [row["p"] for row in written] == p_values
