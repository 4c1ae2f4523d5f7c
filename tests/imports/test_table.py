from __future__ import annotations

import pytest

from harness.errors import StudyError
from harness.imports import import_table
from harness.results import load_study

PLAIN = """\
model,dataset,acc,seed,lr,family
bert,sst2,0.90,0,1e-5,encoder
bert,sst2,0.92,1,1e-5,encoder
gpt,sst2,0.80,0,1e-5,decoder
gpt,sst2,,1,1e-5,decoder
"""
NAMES = {"checkpoint": "model", "task": "dataset", "score": "acc", "learning_rate": "lr"}


def imported(tmp_path, text, **options):
    (tmp_path / "scores.csv").write_text(text)
    done = import_table(tmp_path / "scores.csv", tmp_path / "study", **options)
    return done, load_study(tmp_path / "study")


def test_a_table_becomes_a_study(tmp_path):
    done, study = imported(tmp_path, PLAIN, columns=NAMES, metric="accuracy")
    assert (done.good, done.broken, done.missing) == (3, 0, 1)
    assert list(study.scores["value"]) == [0.90, 0.92, 0.80]
    assert set(study.records["family"]) == {"encoder", "decoder"}
    assert set(study.records["kind"]) == {"sequence_classification"}
    assert set(study.records["learning_rate"]) == {1e-5}
    assert list(study.missing["checkpoint"]) == ["gpt"]


def test_one_point_without_validation_scores_needs_no_choice(tmp_path):
    _, study = imported(tmp_path, PLAIN, columns=NAMES, metric="accuracy")
    table = study.table().set_index("checkpoint")
    assert table.loc["bert", "mean"] == pytest.approx(0.91)
    assert table.loc["bert", "select"] == "one point, nothing to choose"


def test_what_is_not_told_is_absent(tmp_path):
    _, study = imported(tmp_path, "checkpoint,task,score\nbert,sst2,0.9\n")
    row = study.records.iloc[0]
    assert row[["learning_rate", "precision", "attention", "protocol"]].isna().all()
    assert row["seed"] == 0
    assert study.table()["mean"].iloc[0] == 0.9


def test_scores_of_examples_become_a_run_s_mean(tmp_path):
    text = "checkpoint,task,score,example\nbert,sst2,1,a\nbert,sst2,0,b\n"
    _, study = imported(tmp_path, text)
    assert study.scores["value"].tolist() == [0.5]
    stored = study.predictions(study.records["run_id"].iloc[0])
    assert stored.to_dict("list") == {
        "split": ["test", "test"],
        "id": ["a", "b"],
        "score": [1.0, 0.0],
    }


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (PLAIN, {}, "no column 'checkpoint'; say which it is"),
        (PLAIN, {"checkpoint": "modell"}, "no column 'modell'; it has model"),
        (PLAIN, {"model": "checkpoint"}, "--columns model=...: no such name"),
        ("checkpoint,task,score\nbert,mine,0.9\n", {}, "kind of task 'mine' is not known"),
        ("checkpoint,task,score\nbert,sst2,good\n", {}, "csv:2: score 'good' is no number"),
        (
            "checkpoint,task,score\nbert,sst2,1\nbert,sst2,2\n",
            {},
            "csv:3: a second score of 'bert' on 'sst2'",
        ),
        (
            "checkpoint,task,score,learning_rate\nbert,sst2,1,-1\n",
            {},
            "csv:2: learning_rate: Input should be greater than 0",
        ),
        (
            "checkpoint,task,score,note,seed\nbert,sst2,1,a,0\nbert,sst2,1,b,1\n",
            {},
            "csv:3: column 'note' is 'a' and 'b'.*ignore=note",
        ),
        ("checkpoint,task,score,seed\nbert,sst2,1,x\n", {}, "csv:2: seed 'x' is no whole number"),
        (
            "checkpoint,task,score,kind\nbert,sst2,1,painting\n",
            {},
            "csv:2: task 'sst2': kind: Input should be",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_line(tmp_path, text, columns, message):
    with pytest.raises(StudyError, match=message):
        imported(tmp_path, text, columns=columns)


def test_columns_can_be_left_out(tmp_path):
    text = "checkpoint,task,score,note,seed\nbert,sst2,1,a,0\nbert,sst2,1,b,1\n"
    done, _ = imported(tmp_path, text, columns={"ignore": "note"})
    assert done.good == 2


def test_a_score_that_is_not_finite_is_a_failed_run(tmp_path):
    done, study = imported(tmp_path, "checkpoint,task,score\nbert,sst2,nan\n")
    assert (done.good, done.broken) == (0, 1)
    assert "not finite" in study.missing["reason"].iloc[0]
