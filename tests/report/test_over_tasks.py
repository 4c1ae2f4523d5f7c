from __future__ import annotations

from harness.report import lay_out_over_tasks, to_latex, to_markdown
from tests.results.loss_study import both_ways, study_of_checkpoints
from tests.results.test_over_tasks import study_of, without_stsb_of_clm


def texts(layout):
    return [[cell.text for cell in row] for row in layout.rows]


def test_the_best_rank_comes_first_and_the_caption_says_what_is_resampled(tmp_path):
    layout = lay_out_over_tasks(study_of(tmp_path).over_tasks())
    assert layout.header == ("checkpoint", "rank", "mean", "interquartile mean", "median", "runs")
    assert [row[0] for row in texts(layout)] == ["clm", "mlm_40"]
    assert texts(layout)[0][1].startswith("1.40 (1.3")
    assert texts(layout)[0][5] == "12/12"
    assert layout.caption.startswith(
        "Over 3 tasks (sst2, cola, stsb; accuracy, spearman) on the test split, with 95 % "
        "intervals: seeds within each task are resampled, tasks and test examples are taken as "
        "fixed."
    )
    assert layout.notes == ()
    assert "| clm " in to_markdown(layout)
    assert r"\toprule" in to_latex(layout)


def test_what_is_left_out_is_named(tmp_path):
    layout = lay_out_over_tasks(study_of(tmp_path, without_stsb_of_clm).over_tasks())
    assert texts(layout)[1] == ["clm", "—", "—", "—", "—", "8/12"]
    assert layout.notes[0] == ("not ranked: clm: without a learning rate with all runs good: stsb")
    assert "keep the tasks that all have" in layout.notes[1]


def test_ranks_alone_say_why_there_is_no_mean(tmp_path):
    layout = lay_out_over_tasks(both_ways(tmp_path).over_tasks())
    assert texts(layout)[0] == ["bert", "1.00 (1.00 to 1.00)", "—", "—", "—", "6/6"]
    assert layout.notes == ("ranks alone: lower is better for log_loss only",)


def test_a_caption_says_that_lower_is_better(tmp_path):
    frame = study_of_checkpoints(tmp_path, {"a": 0.4, "b": 0.2}).over_tasks("log_loss")
    layout = lay_out_over_tasks(frame)
    assert [row[0] for row in texts(layout)] == ["b", "a"]
    assert layout.caption.endswith("Lower is better: log_loss.")
