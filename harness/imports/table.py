"""Anybody's table of scores: a CSV or TSV file, a row a score.

Columns are known by name: `checkpoint`, `task` and `score` must be there; `kind`, `metric`,
`split`, `seed`, `example` and the fields of a recipe may. All others must say something of the
checkpoint, and become its columns.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from pydantic import ValidationError

from harness.errors import StudyError
from harness.foreign import ForeignCheckpoint, ForeignGrid, ForeignRecipe, ForeignRun, ForeignTask
from harness.imports.writing import Imported, Result, Scores, StudyWriter
from harness.names import parse_name
from harness.spec import Kind, Recipe
from harness.tasks import load_tasks

NEEDED = ("checkpoint", "task", "score")
OPTIONAL = ("kind", "metric", "split", "seed", "example")
RECIPE = tuple(Recipe.model_fields)
IGNORE = "ignore"
DEFAULTS = {"metric": "score", "split": "test", "seed": "0"}
LINE = "the line of the file"
"""A column of our own; no file has one of that name by accident."""


def import_table(
    file: Path,
    study: Path,
    *,
    columns: Mapping[str, str] | None = None,
    kind: str | None = None,
    metric: str | None = None,
) -> Imported:
    """Read a table of scores into a new study.

    `columns` says for names of this module what the file calls them (`{"checkpoint": "model"}`);
    `ignore` may name several columns, separated by `+`. `kind` and `metric` hold for all rows of a
    file without such columns; the kind of a task with a shipped card is known. With `example` a
    row is the score of one example, and a run's score is their mean. Lower is better for metrics
    named `log_loss` and `ece`; any other counts as better when larger. Rows without a score are
    missing runs. Runs without `seed` are one run of seed 0.

    Raises:
        StudyError: the file does not fit (the line is named), or `study` is one already.
    """
    frame = _read(file, columns or {})
    constants = DEFAULTS | ({"metric": metric} if metric else {})
    frame = frame.assign(**{n: value for n, value in constants.items() if n not in frame})
    frame["kind"] = _kinds(file, frame, kind)
    extra = [c for c in frame.columns if c not in {*NEEDED, *OPTIONAL, *RECIPE, LINE}]
    checkpoints = {
        name: ForeignCheckpoint(name=name, columns=parse_name(name) | _constant(file, rows, extra))
        for (name,), rows in _groups(frame, "checkpoint")
    }
    tasks = {name: _task(file, name, rows) for (name,), rows in _groups(frame, "task")}
    swept = tuple(name for name in RECIPE if name in frame)
    recipes = _recipes(file, frame, swept)
    writer = StudyWriter(study)
    runs: list[ForeignRun] = []
    for (checkpoint, task), rows in _groups(frame, "checkpoint", "task"):
        results: list[Result] = []
        for (*point, _), of_run in _groups(rows, *swept, "seed"):
            run = ForeignRun.model_construct(
                source=file.name,
                task=tasks[task],
                checkpoint=checkpoints[checkpoint],
                recipe=recipes[tuple(point)],
                seed=_seed(file, of_run),
            )
            runs.append(run)
            results += _results(file, run, of_run)
        writer.add_cell(results)
    return writer.finish(_span(file, runs, swept))


def _groups(frame: pd.DataFrame, *by: str) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Go through the groups of equal texts in some columns, in the order of the file."""
    for key, rows in frame.groupby(list(by), sort=False):
        yield tuple(map(str, key)), rows


def _span(file: Path, runs: list[ForeignRun], swept: tuple[str, ...]) -> ForeignGrid:
    """Plan all that the file's names span, with scores or without."""
    points: dict[str, dict[str, ForeignRecipe]] = {}
    for run in runs:
        points.setdefault(run.task.name, {})[run.recipe.identity] = run.recipe
    return ForeignGrid(
        foreign=file.name,
        name=file.stem,
        tasks=tuple({run.task.name: run.task for run in runs}.values()),
        checkpoints=tuple({run.checkpoint.name: run.checkpoint for run in runs}.values()),
        recipes={
            name: tuple(sorted(found.values(), key=lambda recipe: recipe.learning_rate or 0.0))
            for name, found in points.items()
        },
        seeds=tuple(sorted({run.seed for run in runs})),
        sweep=swept,
    )


def _read(file: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """Read all cells as text, under our names, with the line of each row."""
    separator = "\t" if file.suffix == ".tsv" else ","
    try:
        frame = pd.read_csv(file, sep=separator, dtype=str, keep_default_na=False)
    except FileNotFoundError:
        raise StudyError(f"{file}: no such file") from None
    except (ValueError, OSError) as error:
        raise StudyError(f"{file}: can't be read as a table: {error}") from None
    known = {*NEEDED, *OPTIONAL, *RECIPE, IGNORE}
    if unknown := sorted(set(columns) - known):
        raise StudyError(
            f"--columns {unknown[0]}=...: no such name; it is one of {', '.join(sorted(known))}"
        )
    named = {theirs: ours for ours, theirs in columns.items() if ours != IGNORE}
    ignored = columns[IGNORE].split("+") if IGNORE in columns else []
    if lacking := [name for name in (*named, *ignored) if name not in frame]:
        raise StudyError(f"{file}: no column {lacking[0]!r}; it has {', '.join(frame.columns)}")
    frame = frame.drop(columns=ignored).rename(columns=named)
    if lacking := [name for name in NEEDED if name not in frame]:
        raise StudyError(
            f"{file}: no column {lacking[0]!r}; say which it is with "
            f"--columns {lacking[0]}=... (it has {', '.join(frame.columns)})"
        )
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise StudyError(f"{file}: two columns are {twice!r}; see --columns")
    return frame.assign(**{LINE: np.arange(2, len(frame) + 2)})


def _kinds(file: Path, frame: pd.DataFrame, kind: str | None) -> pd.Series[str]:
    if "kind" not in frame:
        if kind is not None:
            return pd.Series(kind, index=frame.index)
        cards = load_tasks()
        unknown = [name for name in frame["task"].unique() if name not in cards]
        if unknown:
            raise StudyError(
                f"{file}: the kind of task {unknown[0]!r} is not known; give --kind, or a column "
                f"`kind` with one of {', '.join(get_args(Kind))}"
            )
        return frame["task"].map(lambda name: cards[name].kind)
    return frame["kind"]


def _task(file: Path, name: str, rows: pd.DataFrame) -> ForeignTask:
    if len(rows["kind"].unique()) > 1:
        line = rows.loc[rows["kind"] != rows["kind"].iloc[0], LINE].iloc[0]
        raise StudyError(f"{file}:{line}: task {name!r} has another kind than above")
    try:
        return ForeignTask.model_validate(
            {
                "name": name,
                "kind": rows["kind"].iloc[0],
                "metrics": tuple(dict.fromkeys(rows["metric"])),
            }
        )
    except ValidationError as error:
        fault = error.errors()[0]
        raise StudyError(
            f"{file}:{rows[LINE].iloc[0]}: task {name!r}: {fault['loc'][0]}: {fault['msg']}"
        ) from None


def _recipes(
    file: Path, frame: pd.DataFrame, swept: tuple[str, ...]
) -> dict[tuple[str, ...], ForeignRecipe]:
    if not swept:
        return {(): ForeignRecipe()}
    recipes = {}
    for row in frame.drop_duplicates(list(swept)).to_dict("records"):
        given = {name: row[name] for name in swept if row[name] != ""}
        try:
            recipes[tuple(row[name] for name in swept)] = ForeignRecipe.model_validate(given)
        except ValidationError as error:
            fault = error.errors()[0]
            name = fault["loc"][0]
            raise StudyError(
                f"{file}:{row[LINE]}: {name}: {fault['msg']} (it is {row[str(name)]!r})"
            ) from None
    return recipes


def _seed(file: Path, rows: pd.DataFrame) -> int:
    text, line = rows["seed"].iloc[0], rows[LINE].iloc[0]
    if not text.isdecimal():
        raise StudyError(f"{file}:{line}: seed {text!r} is no whole number")
    return int(text)


def _constant(
    file: Path, rows: pd.DataFrame, extra: list[str]
) -> dict[str, str | int | float | bool]:
    """Collect what the extra columns say of one checkpoint; refuse one that says several things."""
    columns: dict[str, str | int | float | bool] = {}
    for name in extra:
        values = rows[name].unique()
        if len(values) > 1:
            line = rows.loc[rows[name] != values[0], LINE].iloc[0]
            raise StudyError(
                f"{file}:{line}: column {name!r} is {values[0]!r} and {values[1]!r} for checkpoint "
                f"{rows['checkpoint'].iloc[0]!r}; say what it is, or leave it out with "
                f"--columns ignore={name}"
            )
        if values[0] != "":
            columns[name] = _plain(values[0])
    return columns


def _plain(text: str) -> str | int | float | bool:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for type_ in (int, float):
        try:
            return type_(text)
        except ValueError:
            continue
    return text


def _results(file: Path, run: ForeignRun, rows: pd.DataFrame) -> Iterator[Result]:
    """Sum up the rows of a run; nothing where none of them has a score."""
    finished = file.stat().st_mtime
    rows = rows[rows["score"].str.strip() != ""]
    by = ["split", "metric", *(["example"] if "example" in rows else [])]
    if rows.duplicated(by).any():
        line = rows.loc[rows.duplicated(by), LINE].iloc[0]
        raise StudyError(
            f"{file}:{line}: a second score of {run.checkpoint.name!r} on {run.task.name!r}, seed "
            f"{run.seed}; runs are told apart by checkpoint, task, seed and the recipe's numbers"
        )
    scores: Scores = {}
    examples: dict[str, Any] = {}
    for (split, metric), group in _groups(rows, "split", "metric"):
        pairs = zip(group["score"], group[LINE], strict=True)
        values = np.array([_score(file, text, line) for text, line in pairs])
        if not np.isfinite(values).all():
            yield Result(run, finished, fault=f"{file}: a {split} {metric} is not finite")
            return
        scores.setdefault(split, {})[metric] = math.fsum(values) / len(values)
        if "example" in group and metric == run.task.main_metric:
            examples[split] = tuple(group["example"]), values
    if scores:
        yield Result(run, finished, scores, examples)


def _score(file: Path, text: str, line: Hashable) -> float:
    try:
        return float(text)
    except ValueError:
        raise StudyError(f"{file}:{line}: score {text!r} is no number") from None
