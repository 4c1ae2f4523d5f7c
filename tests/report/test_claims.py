from __future__ import annotations

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


def test_a_matrix_is_sorted_and_antisymmetric(tmp_path):
    pairs = recipes_study(tmp_path, MEANS).compare_all(interval="seeds")
    layout = lay_out_matrix(pairs[pairs["task"] == "sst2"])
    rows = texts(layout)
    assert [row[0] for row in rows] == ["b2", "b3", "b1", "a2", "a3", "a1"]
    assert rows[0][4] == "+0.020"
    assert rows[1][3] == "-0.020"
    assert rows[0][3] == ""


def test_sensitivity_has_a_row_for_all_tasks(tmp_path):
    rows = texts(lay_out_sensitivity(recipes_study(tmp_path, MEANS).sensitivity()))
    assert rows[0][:3] == ["a1", "sst2 (accuracy)", "0.605"]
    assert rows[0][3] == "—"  # one rate has no range
    assert rows[12][:2] == ["a1", "(all tasks)"]


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
