"""Predictions come back from the disk as they were, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

from harness.errors import StudyError
from harness.predictions import (
    COLUMNS,
    predictions_path,
    read_predictions,
    write_predictions,
)

RUN = "0123456789abcdef"

FRAMES = {
    "sequence_classification": pd.DataFrame(
        {
            "split": ["validation", "test", "test"],
            "id": ["7", "0", "1"],
            "gold": [0, 1, 2],
            "prediction": [0, 2, 2],
            "logits": [[0.5, -1.0, 0.25], [0.0, 1.0, 2.0], [-3.5, 0.0, 4.0]],
        }
    ),
    "sequence_regression": pd.DataFrame(
        {"split": ["test"], "id": ["a"], "gold": [2.5], "prediction": [2.4999999999999996]}
    ),
    "token_classification": pd.DataFrame(
        {
            "split": ["validation", "test"],
            "id": ["0", "0"],
            "gold": [["B-PER", "I-PER", "O"], []],
            "prediction": [["B-PER", "O", "O"], []],
            "unseen": [1, 0],
        }
    ),
    "question_answering": pd.DataFrame(
        {
            "split": ["test", "test"],
            "id": ["56be", "56bf"],
            "gold": [[], ["Saint Bernadette", "“Bernadette”"]],
            "prediction_text": ["", "Saint\u2028Bernadette"],
            "null_gap": [1.25, -7.0],
            "gold_tokens": [[], [3, 4]],
            "prediction_tokens": [[0], [3, 4, 5]],
        }
    ),
    "retrieval": pd.DataFrame(
        {
            "split": ["test", "test"],
            "id": ["q1", "q2"],
            "documents": [["d1", "d2"], []],
            "scores": [[0.5, 0.25], []],
            "gold": [["d2"], ["d9", "d1"]],
            "relevance": [[1], [2, 0]],
        }
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_each_kind_comes_back_as_it_was(tmp_path: Path, kind: str) -> None:
    write_predictions(tmp_path, RUN, FRAMES[kind])
    back = read_predictions(tmp_path, RUN)
    assert_frame_equal(back, FRAMES[kind])
    lists = [name for name in back if isinstance(FRAMES[kind][name].iloc[0], list)]
    assert all(type(value) is list for name in lists for value in back[name])


def test_the_format_on_disk_is_pinned(tmp_path: Path) -> None:
    texts = "list<element: string>"
    expected = {
        "sequence_classification": {
            "gold": "int64", "prediction": "int64", "logits": "list<element: float>",
        },
        "sequence_regression": {"gold": "double", "prediction": "double"},
        "token_classification": {"gold": texts, "prediction": texts, "unseen": "int64"},
        "question_answering": {
            "gold": texts, "prediction_text": "string", "null_gap": "double",
            "gold_tokens": "list<element: int32>", "prediction_tokens": "list<element: int32>",
        },
        "retrieval": {
            "documents": texts, "scores": "list<element: float>", "gold": texts,
            "relevance": "list<element: int64>",
        },
    }  # fmt: skip
    assert list(COLUMNS) == list(expected)
    for kind, columns in expected.items():
        write_predictions(tmp_path, kind, FRAMES[kind])
        with pq.ParquetFile(predictions_path(tmp_path, kind)) as file:
            found = {field.name: str(field.type) for field in file.schema_arrow}
            assert found == {"split": "string", "id": "string", **columns}
            assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_file_lies_in_a_folder_named_by_the_first_two_digits(tmp_path: Path) -> None:
    write_predictions(tmp_path, RUN, FRAMES["retrieval"])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / "predictions" / "01" / f"{RUN}.parquet"]


def test_a_second_writing_replaces_the_first(tmp_path: Path) -> None:
    write_predictions(tmp_path, RUN, FRAMES["retrieval"])
    write_predictions(tmp_path, RUN, FRAMES["sequence_regression"])
    assert_frame_equal(read_predictions(tmp_path, RUN), FRAMES["sequence_regression"])


def test_the_index_of_a_stacked_frame_is_not_kept(tmp_path: Path) -> None:
    frame = FRAMES["sequence_classification"]
    write_predictions(tmp_path, RUN, frame.set_index(pd.Index([5, 5, 0])))
    assert_frame_equal(read_predictions(tmp_path, RUN), frame)


def test_arrays_in_a_frame_are_written_as_lists(tmp_path: Path) -> None:
    frame = FRAMES["sequence_classification"].copy()
    frame["logits"] = [np.asarray(logits, dtype=np.float32) for logits in frame["logits"]]
    write_predictions(tmp_path, RUN, frame)
    assert_frame_equal(read_predictions(tmp_path, RUN), FRAMES["sequence_classification"])


def test_a_folder_with_an_equals_sign_adds_no_column(tmp_path: Path) -> None:
    study = tmp_path / "rate=1"
    write_predictions(study, RUN, FRAMES["sequence_regression"])
    assert_frame_equal(read_predictions(study, RUN), FRAMES["sequence_regression"])


def test_absent_predictions_are_an_error_that_names_the_run(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=f"no predictions of run {RUN}"):
        read_predictions(tmp_path, RUN)


def test_a_cut_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_predictions(tmp_path, RUN, FRAMES["retrieval"])
    path = predictions_path(tmp_path, RUN)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StudyError, match=r"0123456789abcdef\.parquet: can't be read"):
        read_predictions(tmp_path, RUN)


@pytest.mark.parametrize("run_id", ["../../secret", "", "a/b", "a.b", "a\n"])
def test_an_id_can_not_leave_the_folder(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(StudyError, match="is no run id"):
        predictions_path(tmp_path, run_id)


def test_columns_of_no_kind_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no kind of task"):
        write_predictions(tmp_path, RUN, FRAMES["retrieval"].drop(columns="scores"))
    assert not [*tmp_path.rglob("*")]


def test_values_of_the_wrong_type_leave_nothing_behind(tmp_path: Path) -> None:
    frame = FRAMES["sequence_regression"].assign(prediction=["high"])
    with pytest.raises(ValueError, match="Conversion failed for column prediction"):
        write_predictions(tmp_path, RUN, frame)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    """Two frames of different length replace each other until the process is ended."""
    script = """
import sys, pathlib, pandas as pd
from harness.predictions import write_predictions
frames = [
    pd.DataFrame({"split": "test", "id": [*map(str, range(n))], "gold": 0.0, "prediction": 1.0})
    for n in (20_000, 30_000)
]
while True:
    for frame in frames:
        write_predictions(pathlib.Path(sys.argv[1]), "0123456789abcdef", frame)
        print("written", flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert process.stdout is not None
    with process, process.stdout:
        for _ in range(5):
            process.stdout.readline()
        process.kill()
    assert len(read_predictions(tmp_path, RUN)) in {20_000, 30_000}
