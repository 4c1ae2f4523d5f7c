"""Records as tidy frames: one row a run, or one row a score."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.foreign import AnyRun

Record = Mapping[str, Any]

RECORD_TYPES = {
    "run_id": "str",
    "status": "str",
    "planned": "bool",
    "task": "str",
    "kind": "str",
    "checkpoint": "str",
    "attention": "str",
    "pooling": "str",
    "learning_rate": "float64",
    "seed": "int64",
    "precision": "str",
    "steps": "Int64",
    "collapsed": "boolean",
    "main_metric": "str",
    "protocol": "Int64",
    "data_source": "str",
    "threads": "Int64",
    "device": "str",
    "host": "str",
    "started": "datetime64[us, UTC]",
    "finished": "datetime64[us, UTC]",
    "error": "str",
}
"""The columns that every frame of records has, with an empty ledger too."""

NOT_RUN = "not run yet"
"""The reason of a planned run that has no record at all."""

NAMES = {"run_id": "str", "task": "str", "kind": "str", "checkpoint": "str"}


def records_frame(
    records: Collection[Record], sweep: Sequence[str], planned: Collection[str]
) -> pd.DataFrame:
    """Lay out records, one row each: RECORD_TYPES, the other swept fields, seconds_*, counts_*."""
    others = [name for name in _others(sweep) if name not in RECORD_TYPES]
    rows = []
    for record in records:
        recipe = record["recipe"]
        row = {name: record.get(name) for name in RECORD_TYPES}
        row |= {name: _plain(recipe.get(name)) for name in ("learning_rate", *others)}
        row |= {"planned": record["run_id"] in planned, "error": error_text(record)}
        row |= _flat("seconds", record.get("seconds") or {})
        row |= _flat("counts", record.get("counts") or {})
        rows.append(row)
    known = list(RECORD_TYPES)
    at = known.index("seed")
    first = [*known[:at], *others, *known[at:]]
    frame = pd.DataFrame(rows, columns=None if rows else first)
    more = [name for name in frame.columns if name not in first]
    return typed(frame[first + more], RECORD_TYPES)


def scores_frame(records: Iterable[Record], sweep: Sequence[str]) -> pd.DataFrame:
    """Lay out the scores of the good records: one row a run, split and metric."""
    good = [record for record in records if record["status"] == "ok"]
    runs = _run_columns(good, sweep)
    row: list[int] = []
    splits: list[str] = []
    metrics: list[str] = []
    values: list[float] = []
    for position, record in enumerate(good):
        for split, scores in record["scores"].items():
            row += [position] * len(scores)
            splits += [split] * len(scores)
            metrics += scores.keys()
            values += scores.values()
    frame = runs.take(np.asarray(row, dtype=np.intp)).reset_index(drop=True)
    return frame.assign(
        split=pd.Series(splits, dtype="str"),
        metric=pd.Series(metrics, dtype="str"),
        value=pd.Series(values, dtype="float64"),
    )


def missing_frame(
    planned: Iterable[AnyRun], latest: Mapping[str, Record], sweep: Sequence[str]
) -> pd.DataFrame:
    """Lay out the planned runs without a good record, with the reason."""
    rows, reasons = [], []
    for run in planned:
        record = latest.get(run.run_id)
        if record is None or record["status"] != "ok":
            rows.append(
                {
                    "run_id": run.run_id,
                    "task": run.task.name,
                    "kind": run.task.kind,
                    "checkpoint": run.checkpoint.name,
                    "recipe": {
                        name: getattr(run.recipe, name) for name in ("learning_rate", *sweep)
                    },
                    "seed": run.seed,
                }
            )
            reasons.append(reason_text(record))
    return _run_columns(rows, sweep).assign(reason=pd.Series(reasons, dtype="str"))


def reason_text(record: Record | None) -> str:
    """Say why a planned run has no good record."""
    if record is None:
        return NOT_RUN
    if record["status"] == "diverged":
        step = (record.get("error") or {}).get("step")
        return "diverged" if step is None else f"diverged at step {step}"
    if record["status"] == "blocked":
        return f"blocked by run {record.get('source')}"
    return f"failed: {error_text(record) or 'without a message'}"


def error_text(record: Record) -> str | None:
    """Give type and first line of a record's error, None where it has none."""
    error = record.get("error")
    if not error:
        return None
    lines = str(error.get("message", "")).strip().splitlines()
    return f"{error['type']}: {lines[0]}" if lines else str(error["type"])


def typed(frame: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
    """Give columns their types, so that a frame of few or no rows has the same ones."""
    times = {name for name, type_ in types.items() if type_.startswith("datetime64")}
    frame = frame.assign(
        **{name: pd.to_datetime(frame[name], utc=True, format="ISO8601") for name in times}
    )
    return frame.astype(dict(types))


def _run_columns(records: Sequence[Record], sweep: Sequence[str]) -> pd.DataFrame:
    columns: dict[str, Any] = {
        name: pd.Series([record[name] for record in records], dtype=type_)
        for name, type_ in NAMES.items()
    }
    rates = [record["recipe"].get("learning_rate") for record in records]
    columns["learning_rate"] = np.asarray(rates, dtype=np.float64)
    for name in _others(sweep):
        columns[name] = [_plain(record["recipe"].get(name)) for record in records]
    columns["seed"] = np.asarray([record["seed"] for record in records], dtype=np.int64)
    return pd.DataFrame(columns)


def _others(sweep: Sequence[str]) -> list[str]:
    return [name for name in sweep if name != "learning_rate"]


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _flat(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat.update(_flat(f"{prefix}_{name}", value))
        else:
            flat[f"{prefix}_{name}"] = value
    return flat
