from __future__ import annotations

import pytest

from harness.errors import StudyError
from harness.results import load_study
from harness.spec import Checkpoint
from tests.small_study import SST2, record_of, records_of, small_grid, write_study

STEPS = (1000, 2000, 4000)
CURVES = {"clm": (0.60, 0.70, 0.72), "mlm": (0.50, 0.68, 0.80)}


def study_of(folder, curves=CURVES, **columns):
    checkpoints = tuple(
        Checkpoint(
            name=f"{objective}-{step}",
            path="x",
            fingerprint=f"{objective}-{step}",
            columns={"objective": objective, "intermediate_step": step, **columns},
        )
        for objective in curves
        for step in STEPS
    )
    grid = small_grid(tasks=(SST2,), rates=(1e-5,), checkpoints=checkpoints)

    def make(run):
        objective, step = run.checkpoint.name.split("-")
        score = curves[objective][STEPS.index(int(step))] + (run.seed - 1) / 200
        return record_of(run, score, score)

    return load_study(write_study(folder, grid, records_of(grid, make)))


def test_checkpoints_that_differ_in_the_step_alone_are_a_curve(tmp_path):
    frame = study_of(tmp_path, size="1m").dynamics()
    assert list(frame["series"].unique()) == ["objective=clm", "objective=mlm"]
    assert list(frame["step"]) == [*STEPS, *STEPS]
    assert list(frame["mean"]) == pytest.approx([*CURVES["clm"], *CURVES["mlm"]])
    assert (frame["low"] < frame["mean"]).all()


def test_the_step_at_which_curves_cross_lies_between_the_points(tmp_path):
    row = study_of(tmp_path).crossings("objective=clm", "objective=mlm").iloc[0]
    # The gap goes from +0.02 at 2,000 to -0.08 at 4,000.
    assert row["step"] == pytest.approx(2400)
    assert row["low"] < 2400 < row["high"]
    assert row["ahead_after"] == "objective=mlm"


def test_steps_to_reach_a_score_are_found_between_the_points(tmp_path):
    reached = study_of(tmp_path).steps_to_reach(0.65).set_index("series")["step"]
    assert reached["objective=clm"] == pytest.approx(1500)
    assert reached["objective=mlm"] == pytest.approx(1000 + 1000 * 0.15 / 0.18)


def test_two_checkpoints_at_one_step_of_a_series_are_refused(tmp_path):
    with pytest.raises(StudyError, match="are one series at step 1000; give the columns"):
        study_of(tmp_path).dynamics(by=[])


def test_a_study_without_steps_has_no_curves(tmp_path):
    grid = small_grid()
    study = load_study(write_study(tmp_path, grid, records_of(grid)))
    with pytest.raises(StudyError, match="no checkpoint of this study has a pretraining step"):
        study.dynamics()


def test_an_unknown_series_is_named(tmp_path):
    with pytest.raises(StudyError, match="series 'objective=cml'; did you mean 'objective=mlm'"):
        study_of(tmp_path).crossings("objective=cml", "objective=mlm")
