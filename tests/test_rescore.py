"""Metrics of finished runs, from their stored predictions alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.errors import InputError, StudyError
from harness.ledger import LedgerWriter, read_ledger
from harness.predictions import predictions_path, write_predictions
from harness.rescore import rescore
from harness.results import load_study
from harness.spec import Run
from tests.small_study import SST2, diverged, record_of, small_grid, write_study


def predictions(run: Run) -> pd.DataFrame:
    """Make four predictions a split; the seed says how many of validation are right."""
    if run.task.name == "stsb":
        values: dict[str, Any] = {"gold": [1.0, 2.0, 3.0], "prediction": [1.0, 3.0, 2.0]}
        return pd.DataFrame({"split": "test", "id": list("abc"), **values})
    said = [1] * run.seed + [0] * (4 - run.seed)
    return pd.DataFrame(
        {
            "split": ["validation"] * 4 + ["test"] * 4,
            "id": list("abcdefgh"),
            "gold": [1, 1, 1, 1, 0, 1, 0, 1],
            "prediction": [*said, 0, 1, 1, 1],
            "logits": [[0.0, 0.0]] * 8,
        }
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Give a study of two checkpoints, two tasks, one rate and two seeds, with predictions."""
    grid = small_grid(rates=(1e-4,), seeds=(0, 1))
    records = [record_of(run, 0.25 * run.seed, 0.75) for run in grid.runs()]
    folder = write_study(tmp_path / "study", grid, records)
    for run in grid.runs():
        write_predictions(folder, run.run_id, predictions(run))
    return folder


def scores(study: Path, metric: str) -> dict[tuple[str, str], float]:
    """Collect a metric as notebooks see it: {(run_id, split): value}."""
    frame = load_study(study).scores
    chosen = frame[frame["metric"] == metric]
    return {
        (run_id, split): value
        for run_id, split, value in zip(
            chosen["run_id"], chosen["split"], chosen["value"], strict=True
        )
    }


def lines(study: Path) -> list[dict[str, Any]]:
    files = (study / "rescored").glob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_metric_that_no_run_had_is_in_every_frame_and_table_afterwards(study: Path) -> None:
    with pytest.raises(StudyError, match="'macro_f1'"):
        load_study(study).table(metric="macro_f1")
    outcome = rescore(study, ["macro_f1"])
    tally = outcome.tallies["macro_f1"]
    assert (tally.runs, tally.valued, tally.added, tally.changed) == (4, 4, 4, 0)
    assert not outcome.faults
    # on test: F1 of class 0 is 2 / 3, of class 1 is 4 / 5
    found = scores(study, "macro_f1")
    on_test = [value for (_, split), value in found.items() if split == "test"]
    assert on_test == pytest.approx([(2 / 3 + 4 / 5) / 2] * 4)
    table = load_study(study).table(metric="macro_f1")
    assert table["mean"].tolist() == pytest.approx([(2 / 3 + 4 / 5) / 2] * 2)
    assert table["task"].tolist() == ["sst2", "sst2"]


def test_the_ledger_is_left_as_it_is(study: Path) -> None:
    before = {path: path.read_bytes() for path in (study / "ledger").iterdir()}
    rescore(study, ["macro_f1", "pearson"])
    assert {path: path.read_bytes() for path in (study / "ledger").iterdir()} == before
    records = read_ledger(study)
    assert len(records) == 8
    assert {record["finished"] for record in records} == {"2025-01-02T03:04:07.250000+00:00"}


def test_scores_that_are_there_already_are_not_written_again(study: Path) -> None:
    assert rescore(study, ["accuracy"]).tallies["accuracy"].added == 0
    assert not (study / "rescored").exists()
    rescore(study, ["mcc", "macro_f1"])
    written = lines(study)
    again = rescore(study, ["mcc", "macro_f1"]).tallies["macro_f1"]
    assert (again.runs, again.valued, again.added, again.changed) == (4, 4, 0, 0)
    assert lines(study) == written


def test_a_score_that_comes_out_otherwise_is_counted_and_counts_from_then_on(study: Path) -> None:
    run = small_grid(rates=(1e-4,), seeds=(0, 1)).runs()[0]
    write_predictions(study, run.run_id, predictions(run).assign(prediction=[1] * 8))
    tally = rescore(study, ["accuracy"]).tallies["accuracy"]
    assert (tally.runs, tally.added, tally.changed) == (4, 0, 1)
    assert scores(study, "accuracy")[run.run_id, "validation"] == 1.0
    assert scores(study, "accuracy")[run.run_id, "test"] == 0.5


def test_without_metrics_those_of_every_card_are_computed(study: Path) -> None:
    outcome = rescore(study)
    assert {name: tally.runs for name, tally in outcome.tallies.items()} == {
        "accuracy": 4,
        "f1": 4,
        "spearman": 4,
    }
    spearman = [v for (_, split), v in scores(study, "spearman").items() if split == "test"]
    assert spearman == pytest.approx([0.5] * 4)


def test_a_metric_without_a_value_is_looked_for_and_not_written(study: Path) -> None:
    """The gold of validation is constant, and MCC is of test alone."""
    tally = rescore(study, ["mcc"]).tallies["mcc"]
    assert (tally.runs, tally.valued) == (4, 4)
    assert {split for _, split in scores(study, "mcc")} == {"test"}


def test_a_metric_of_no_task_is_refused_with_the_reason_of_each(study: Path) -> None:
    with pytest.raises(InputError) as caught:
        rescore(study, ["acuracy", "f1", "nDCG@10"])
    text = str(caught.value)
    assert "no task of this study has the metric 'acuracy':" in text
    assert "task sst2: this task has no such metric; did you mean 'accuracy'?" in text
    assert "task stsb: this task has no such metric" in text
    assert "the metric 'nDCG@10'" in text
    assert "the metric 'f1'" not in text
    assert not (study / "rescored").exists()


def test_lost_or_broken_predictions_are_the_fault_of_their_run_alone(study: Path) -> None:
    lost, broken = small_grid(rates=(1e-4,), seeds=(0, 1)).runs()[:2]
    predictions_path(study, lost.run_id).unlink()
    frame = predictions(broken)
    frame.at[0, "logits"] = [0.0, float("nan")]
    write_predictions(study, broken.run_id, frame)
    outcome = rescore(study, ["macro_f1"])
    assert outcome.tallies["macro_f1"].added == 2
    assert outcome.faults.keys() == {lost.run_id, broken.run_id}
    assert "no predictions of run" in outcome.faults[lost.run_id]
    assert "a logit is not a finite number" in outcome.faults[broken.run_id]


def test_only_good_runs_of_the_grid_are_scored(tmp_path: Path) -> None:
    grid = small_grid(rates=(1e-4,), seeds=(0, 1), tasks=(SST2,))
    good, other, *_ = grid.runs()
    stray = small_grid(rates=(3e-4,), tasks=(SST2,)).runs()[0]
    records = [record_of(good, 0.5, 0.5), diverged(other, 3), record_of(stray, 0.5, 0.5)]
    folder = write_study(tmp_path / "study", grid, records)
    for run in (good, other, stray):
        write_predictions(folder, run.run_id, predictions(run))
    seen: list[str] = []
    outcome = rescore(folder, ["mcc"], on_run=lambda record: seen.append(record["run_id"]))
    assert seen == [good.run_id]
    assert outcome.tallies["mcc"].runs == 1


def test_a_run_that_is_executed_again_begins_without_them(study: Path) -> None:
    run = small_grid(rates=(1e-4,), seeds=(0, 1)).runs()[0]
    rescore(study, ["macro_f1"])
    with LedgerWriter(study) as ledger:
        later = record_of(run, 0.5, 0.5, finished="2025-01-03T00:00:00+00:00")
        ledger.append({key: value for key, value in later.items() if key != "writer"})
    assert (run.run_id, "test") not in scores(study, "macro_f1")
    assert len(scores(study, "macro_f1")) == 6  # two splits of three runs


def test_a_torn_last_line_is_no_score_and_a_damaged_one_is_named(study: Path) -> None:
    rescore(study, ["macro_f1"])
    (file,) = (study / "rescored").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-30])
    assert len(scores(study, "macro_f1")) == 6
    file.write_bytes(b"{}\n" + whole)
    with pytest.raises(StudyError, match=r"rescored/.*\.jsonl:1: .*`harness rescore` computes it"):
        load_study(study)
