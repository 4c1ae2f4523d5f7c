from __future__ import annotations

import json

import numpy as np
import pytest

from harness.errors import StudyError
from harness.foreign import example_scores_path, read_example_scores
from harness.grid import read_frozen
from harness.imports import import_encodeval
from harness.results import load_study
from tests.encodeval_tree import cells, write_tree

NAMES = ["610m-clm-42k", "610m-mlm40-42k"]
SMALL = {"SC": ("sst2",), "IR": ("msmarco", "nq")}


@pytest.fixture
def tree(tmp_path):
    write_tree(tmp_path / "tree" / "results", cells(NAMES, SMALL))
    return tmp_path / "tree"


def results_file(tree, rate="1e-05", seed=0):
    folder = tree / "results" / NAMES[0] / "SC" / "sst2" / f"lr{rate}_sd{seed}"
    return folder / "results.json"


def test_a_tree_becomes_a_study_with_columns_from_names(tree, tmp_path):
    done = import_encodeval(tree, tmp_path / "study")
    assert (done.good, done.broken, done.missing) == (180, 0, 0)
    study = load_study(tmp_path / "study")
    row = study.records.iloc[0]
    assert (row["checkpoint"], row["task"], row["kind"]) == (
        "610m-clm-42k",
        "sst2",
        "sequence_classification",
    )
    assert (row["size"], row["objective"], row["total_steps"]) == ("610m", "clm", 42_000)
    assert set(study.scores["metric"]) == {"accuracy", "paper/nDCG@10"}
    assert set(study.records["learning_rate"]) == {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4}
    assert study.records["precision"].isna().all()


def test_scores_are_those_of_the_files(tree, tmp_path):
    content = json.loads(results_file(tree).read_text())
    import_encodeval(tree, tmp_path / "study")
    study = load_study(tmp_path / "study")
    record = study.records.query("task == 'sst2' and learning_rate == 1e-5 and seed == 0").iloc[0]
    values = study.scores[study.scores["run_id"] == record["run_id"]].set_index("split")["value"]
    assert values["test"] == content["test"]["score"]
    assert values["validation"] == content["validation"]["score"]
    stored = study.predictions(record["run_id"])
    assert list(stored["score"]) == content["validation"]["scores_i"] + content["test"]["scores_i"]
    assert list(stored["id"][:2]) == ["1/20", "2/20"]


def test_a_missing_cell_is_missing_and_a_damaged_file_is_a_failed_run(tree, tmp_path):
    results_file(tree, seed=1).unlink()
    results_file(tree, seed=2).write_text("{")
    results_file(tree, seed=3).write_text('{"test": {"score": NaN, "scores_i": [NaN]}}')
    results_file(tree, seed=4).write_text('{"test": {"score": 0.9, "scores_i": [0, 1]}}')
    done = import_encodeval(tree, tmp_path / "study")
    assert (done.good, done.broken, done.missing) == (176, 3, 1)
    missing = load_study(tmp_path / "study").missing
    assert list(missing["seed"]) == [1, 2, 3, 4]
    reasons = list(missing["reason"])
    assert reasons[0] == "not run yet"
    assert "results.json" in reasons[1]
    assert "not a finite number" in reasons[2]
    assert "not the mean of its scores_i, 0.5" in reasons[3]


def test_examples_of_a_split_drawn_by_the_seed_are_not_the_same_in_other_runs(tree, tmp_path):
    import_encodeval(tree, tmp_path / "study")
    nq = read_example_scores(example_scores_path(tmp_path / "study", NAMES[0], "nq"))
    sst2 = read_example_scores(example_scores_path(tmp_path / "study", NAMES[0], "sst2"))
    assert len(nq["id"]) == 5 * 40
    assert len(sst2["id"]) == 40
    run = next(name for name in nq if name not in {"split", "id"})
    assert np.isfinite(nq[run]).sum() == 40


def test_folders_that_do_not_fit_the_layout_are_skipped_by_name(tree, tmp_path):
    (tree / "results" / NAMES[0] / "SC" / "sst2" / "final").mkdir()
    (tree / "results" / NAMES[0] / "XX").mkdir()
    done = import_encodeval(tree, tmp_path / "study")
    assert [item.reason for item in done.skipped] == [
        "SC/sst2/final: not named lr<rate>_sd<seed>",
        "XX: no kind of EncodEval's (SC, TC, QA, IR)",
    ]


def test_what_is_no_tree_or_would_overwrite_a_study_is_refused(tree, tmp_path):
    with pytest.raises(StudyError, match="no result files"):
        import_encodeval(tree / "results" / NAMES[0], tmp_path / "study")
    with pytest.raises(StudyError, match="no such folder"):
        import_encodeval(tmp_path / "nowhere", tmp_path / "study")
    import_encodeval(tree, tmp_path / "study")
    with pytest.raises(StudyError, match="already holds a study"):
        import_encodeval(tree, tmp_path / "study")


def test_nothing_can_be_run_in_an_imported_study(tree, tmp_path):
    import_encodeval(tree, tmp_path / "study")
    with pytest.raises(StudyError, match="can be read, but nothing can be run in it"):
        read_frozen(tmp_path / "study")
