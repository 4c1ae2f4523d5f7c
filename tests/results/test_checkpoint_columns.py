"""What is known of checkpoints stands in every frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.results import Study, load_study
from tests.small_study import CHECKPOINTS, records_of, small_grid, write_study

MLM = CHECKPOINTS[0].model_copy(update={"columns": {"size": "610m", "steps": 42_000, "mask": 0.4}})
CLM = CHECKPOINTS[1].model_copy(update={"columns": {"size": "1b", "steps": 1_000, "tied": True}})


@pytest.fixture
def study(tmp_path: Path) -> Study:
    grid = small_grid(checkpoints=(MLM, CLM))
    return load_study(write_study(tmp_path, grid, records_of(grid)[1:]))


@pytest.mark.parametrize("name", ["records", "scores", "missing", "table", "rates"])
def test_every_frame_has_the_columns(study: Study, name: str) -> None:
    frame = getattr(study, name)
    frame = frame() if callable(frame) else frame
    steps = "checkpoint_steps" if name == "records" else "steps"
    assert {"size", steps, "step", "mask", "tied"} <= set(frame.columns)
    sizes = set(zip(frame["checkpoint"], frame["size"], strict=True))
    assert sizes <= {("mlm_40", "610m"), ("clm", "1b")}
    assert len(frame) > 0


def test_the_steps_of_a_run_stay_what_they_are(study: Study) -> None:
    assert set(study.records["steps"]) == {10}
    assert set(study.records["checkpoint_steps"]) == {42_000, 1_000}


def test_checkpoints_without_columns_add_none(tmp_path: Path) -> None:
    grid = small_grid()
    plain = load_study(write_study(tmp_path, grid, records_of(grid)))
    assert list(plain.scores.columns[-3:]) == ["split", "metric", "value"]


def test_records_bear_the_name_that_a_renamed_checkpoint_has_now(tmp_path: Path) -> None:
    grid = small_grid()
    records = records_of(grid)
    renamed = MLM.model_copy(update={"name": "new_name"})
    write_study(tmp_path, small_grid(checkpoints=(renamed, CLM)), records)
    study = load_study(tmp_path)
    assert study.missing.empty
    assert set(study.records["checkpoint"]) == {"new_name", "clm"}
    assert set(study.scores["size"]) == {"610m", "1b"}
