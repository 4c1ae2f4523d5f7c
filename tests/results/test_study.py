from __future__ import annotations

import json
import subprocess
import sys
import time

import pandas as pd
import pytest

from harness.errors import StudyError
from harness.predictions import write_predictions
from harness.results import load_study
from harness.spec import Recipe, SequenceClassification
from tests.small_study import (
    CHECKPOINTS,
    SST2,
    checkpoint_named,
    diverged,
    failed,
    record_of,
    records_of,
    small_grid,
    write_study,
)


def test_every_recorded_run_is_a_row_with_flat_columns(tmp_path):
    grid = small_grid()
    records = load_study(write_study(tmp_path, grid, records_of(grid))).records
    assert len(records) == 24
    row = records[records["run_id"] == grid.runs()[0].run_id].iloc[0]
    assert row["checkpoint"] == "mlm_40"
    assert row["learning_rate"] == 1e-5
    assert row["seconds_train"] == 1.5
    assert row["counts_train_truncated"] == 1
    assert row["finished"] - row["started"] == pd.Timedelta("2.25s")
    assert row["planned"]
    assert pd.isna(row["error"])


def test_scores_are_one_row_a_run_split_and_metric(tmp_path):
    grid = small_grid()
    scores = load_study(write_study(tmp_path, grid, records_of(grid))).scores
    assert len(scores) == 48
    assert list(scores.columns) == [
        "run_id", "task", "kind", "checkpoint", "learning_rate", "seed", "split", "metric", "value",
    ]  # fmt: skip
    means = scores.groupby(["task", "metric", "split"])["value"].mean()
    assert means["stsb", "spearman", "validation"] == pytest.approx(0.81)


def test_a_failed_run_is_a_record_without_a_score(tmp_path):
    grid = small_grid()
    first, second = grid.runs()[:2]
    records = [failed(first, "out of memory\nat line 3"), record_of(second, 0.5, 0.5)]
    study = load_study(write_study(tmp_path, grid, records))
    assert set(study.scores["run_id"]) == {second.run_id}
    row = study.records.set_index("run_id").loc[first.run_id]
    assert row["status"] == "failed"
    assert row["error"] == "RunError: out of memory"
    assert pd.isna(row["collapsed"])


def test_missing_says_why_a_planned_run_has_no_good_record(tmp_path):
    grid = small_grid(tasks=(SST2,), seeds=(0,), checkpoints=CHECKPOINTS[:1], rates=(1, 2, 3, 4))
    runs = grid.runs()
    records = [record_of(runs[0], 0.5, 0.5), failed(runs[1], "no room"), diverged(runs[2], 7)]
    missing = load_study(write_study(tmp_path, grid, records)).missing
    assert list(missing["run_id"]) == [run.run_id for run in runs[1:]]
    assert list(missing["reason"]) == [
        "failed: RunError: no room",
        "diverged at step 7",
        "not run yet",
    ]


def test_a_run_that_was_good_once_is_not_missing(tmp_path):
    grid = small_grid()
    run = grid.runs()[0]
    study = load_study(
        write_study(tmp_path, grid, [record_of(run, 0.5, 0.5), failed(run, "later")])
    )
    assert run.run_id not in set(study.missing["run_id"])
    assert list(study.records["status"]) == ["ok"]


def test_a_study_without_records_has_empty_frames_of_the_same_columns(tmp_path):
    grid = small_grid()
    empty = load_study(write_study(tmp_path / "empty", grid))
    full = load_study(write_study(tmp_path / "full", grid, records_of(grid)))
    assert (len(empty.records), len(empty.scores), len(empty.missing)) == (0, 0, 24)
    assert empty.records.dtypes.to_dict() == {
        name: type_
        for name, type_ in full.records.dtypes.items()
        if not name.startswith(("seconds_", "counts_"))
    }
    assert empty.scores.dtypes.equals(full.scores.dtypes)
    assert empty.missing.dtypes.equals(full.missing.dtypes)
    assert repr(empty).endswith("0 of 24 runs ok)")


def test_other_swept_numbers_are_columns_too(tmp_path):
    recipes = tuple(
        Recipe(learning_rate=rate, precision=precision, dropout=dropout)
        for rate in (1e-5, 1e-4)
        for precision, dropout in (("fp32", None), ("bf16", 0.1))
    )
    grid = small_grid(
        tasks=(SST2,),
        recipes={"sst2": recipes},
        sweep=("learning_rate", "precision", "dropout"),
    )
    study = load_study(write_study(tmp_path, grid, records_of(grid)[:4]))
    assert list(study.records["dropout"].fillna(-1)) == [-1, 0.1, -1, 0.1]
    assert list(study.scores["precision"]) == ["fp32", "fp32", "bf16", "bf16"] * 2
    assert {"precision", "dropout"} < set(study.missing.columns)
    point = study.rates()["point"].iloc[1]
    assert point == "learning_rate=1e-05 precision=bf16 dropout=0.1"


def test_a_record_outside_of_the_grid_is_kept_but_in_no_table(tmp_path):
    grid = small_grid()
    other = small_grid(rates=(0.5,)).runs()[0]
    records = [*records_of(grid), record_of(other, 1.0, 1.0)]
    study = load_study(write_study(tmp_path, grid, records))
    assert list(study.records.loc[~study.records["planned"], "run_id"]) == [other.run_id]
    assert study.table()["mean"].max() == pytest.approx(0.81)


def test_predictions_of_a_run_are_a_frame(tmp_path):
    grid = small_grid()
    run = next(run for run in grid.runs() if run.task.name == "stsb")
    write_study(tmp_path, grid)
    frame = pd.DataFrame({"split": ["test"], "id": ["a"], "gold": [1.0], "prediction": [2.0]})
    write_predictions(tmp_path, run.run_id, frame)
    study = load_study(tmp_path)
    assert list(study.predictions(run.run_id)["prediction"]) == [2.0]
    with pytest.raises(StudyError, match="no predictions"):
        study.predictions(grid.runs()[0].run_id)


def test_a_folder_that_is_no_study_is_refused(tmp_path):
    with pytest.raises(StudyError, match=r"grid\.json"):
        load_study(tmp_path / "nowhere")


def test_reading_a_study_needs_neither_torch_nor_ray(tmp_path):
    grid = small_grid()
    write_study(tmp_path, grid, records_of(grid))
    code = (
        "import sys; from harness.results import load_study; import harness.report as report;"
        f"study = load_study({str(tmp_path)!r}); layout = report.lay_out(study, study.table());"
        "report.to_markdown(layout); assert 'rich' not in sys.modules; report.to_terminal(layout);"
        "import harness.metrics.examples, harness.imports;"
        "study.compare('mlm_40', 'clm', interval='seeds'); study.sensitivity();"
        "print([m for m in ('torch', 'transformers', 'datasets', 'ray') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_study_of_18000_runs_is_read_in_seconds(tmp_path):
    card = SST2.model_dump(exclude={"name"})
    tasks = tuple(SequenceClassification(name=f"task{n}", **card) for n in range(12))
    checkpoints = tuple(checkpoint_named(f"c{n}", f"{n:016x}") for n in range(50))
    rates = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4)
    grid = small_grid(tasks=tasks, checkpoints=checkpoints, rates=rates, seeds=(0, 1, 2, 3, 4))
    (tmp_path / "ledger").mkdir()
    # Appending by LedgerWriter would spend a minute on fsync.
    write_study(tmp_path, grid)
    lines = "".join(json.dumps(record) + "\n" for record in records_of(grid))
    (tmp_path / "ledger" / "w.jsonl").write_text(lines)
    began = time.process_time()
    study = load_study(tmp_path)
    loaded = time.process_time()
    assert len(study.records) == 18_000
    assert len(study.scores) == 36_000
    framed = time.process_time()
    assert len(study.table()) == 600
    tabled = time.process_time()
    print(f"read {loaded - began:.2f} s, frames {framed - loaded:.2f} s")
    print(f"table {tabled - framed:.2f} s")
    assert framed - began < 6
    assert tabled - framed < 2
