"""Per-example outputs of a run: one parquet file a run, written whole, read back as it was.

A frame holds all splits, one under another. Its columns say which kind of task it is of: `split`
and `id`, then those of `COLUMNS`. Lists are lists of Python values again after reading.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import StudyError

_TEXTS = pa.list_(pa.string())

COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "sequence_classification": {
        "gold": pa.int64(),
        "prediction": pa.int64(),
        "logits": pa.list_(pa.float32()),
    },
    "sequence_regression": {"gold": pa.float64(), "prediction": pa.float64()},
    "token_classification": {"gold": _TEXTS, "prediction": _TEXTS, "unseen": pa.int64()},
    "question_answering": {
        "gold": _TEXTS,
        "prediction_text": pa.string(),
        "null_gap": pa.float64(),
        "gold_tokens": pa.list_(pa.int32()),
        "prediction_tokens": pa.list_(pa.int32()),
    },
    "retrieval": {
        "documents": _TEXTS,
        "scores": pa.list_(pa.float32()),
        "gold": _TEXTS,
        "relevance": pa.list_(pa.int64()),
    },
}
"""Columns after `split` and `id`, by kind of task.

The tokens of a question are places among the tokens of its context, from 0 on: those of the first
gold answer (none where there is none), and of what is predicted.
"""


def predictions_path(study: Path, run_id: str) -> Path:
    """Say where the predictions of a run lie in a study.

    Raises:
        StudyError: the id can't be a run's (it would leave the folder).
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", run_id):
        raise StudyError(f"{run_id!r} is no run id; `study.records` lists those of a study")
    return study / "predictions" / run_id[:2] / f"{run_id}.parquet"


def write_predictions(study: Path, run_id: str, frame: pd.DataFrame) -> None:
    """Write the predictions of a run whole or not at all; an older file of that run is replaced.

    Raises:
        ValueError: the columns are not those of a kind.
    """
    path = predictions_path(study, run_id)
    table = pa.Table.from_pandas(frame, schema=_schema(frame), preserve_index=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{run_id}-{secrets.token_hex(4)}.unfinished")
    try:
        with unfinished.open("wb") as file:
            pq.write_table(table.replace_schema_metadata(None), file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_predictions(
    study: Path, run_id: str, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read the predictions of a run: RangeIndex, columns as they were written, all or some.

    Raises:
        StudyError: the study has no predictions of that run, or the file is damaged.
    """
    path = predictions_path(study, run_id)
    try:
        # Not `read_table`: it would take folders named `a=b` above the file for columns.
        with pq.ParquetFile(path) as file:
            table = file.read(columns=None if columns is None else list(columns))
    except FileNotFoundError:
        raise StudyError(
            f"{path}: the study has no predictions of run {run_id}; was it finished?"
        ) from None
    except (pa.ArrowInvalid, OSError) as error:
        raise StudyError(
            f"{path}: can't be read ({error}); restore the file from a copy of the study"
        ) from None
    frame: pd.DataFrame = table.to_pandas()
    for field in table.schema:
        if pa.types.is_list(field.type):
            frame[field.name] = [array.tolist() for array in frame[field.name]]
    return frame


def _schema(frame: pd.DataFrame) -> pa.Schema:
    given = list(frame.columns)
    for columns in COLUMNS.values():
        if given == ["split", "id", *columns]:
            return pa.schema([("split", pa.string()), ("id", pa.string()), *columns.items()])
    raise ValueError(f"predictions of no kind of task have the columns {given}")


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
