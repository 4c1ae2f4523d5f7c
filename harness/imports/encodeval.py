"""The result files of EncodEval, the evaluation code of arXiv 2507.00994.

`<checkpoint>/<SC|TC|QA|IR>/<dataset>/[msmarco_pairs_]lr<rate>_sd<seed>/results.json`, each with
`score` and `scores_i` of `validation` and `test`. A score is the mean of its `scores_i`, in the
metrics of that code: the tagging, answers and ranking ones are not the standard ones, hence
`paper/` before their names.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import StudyError
from harness.foreign import (
    ForeignCheckpoint,
    ForeignGrid,
    ForeignRecipe,
    ForeignRun,
    ForeignTask,
)
from harness.grid import SkippedCheckpoint
from harness.imports.writing import Imported, Result, Scores, StudyWriter
from harness.names import parse_name
from harness.spec import Kind

SOURCE = "EncodEval"
RESULT_FILE = "results.json"
SPLITS = ("validation", "test")
KINDS: dict[str, tuple[Kind, str]] = {
    "SC": ("sequence_classification", "accuracy"),
    "TC": ("token_classification", "paper/macro_f1"),
    "QA": ("question_answering", "paper/token_f1"),
    "IR": ("retrieval", "paper/nDCG@10"),
}
"""Folder name -> kind and metric."""

SPLITS_DRAWN_BY_SEED = frozenset({"nq"})
"""Datasets that EncodEval cuts with the run's seed: other seeds have other examples."""

MEAN_TOLERANCE = 1e-4
_RUN = re.compile(
    r"(?:(?P<trained_on>msmarco_pairs)_)?lr(?P<rate>[\d.]+(?:e[+-]?\d+)?)_sd(?P<seed>\d+)"
)
"""The ranking data sets are further tests of one encoder, trained on pairs of MS MARCO."""


@dataclass(frozen=True)
class _Place:
    """Where the results of a run lie, and what the names of the folders say."""

    file: Path
    checkpoint: str
    task: str
    folder: str
    rate: float
    seed: int
    trained_on: str | None


def import_encodeval(
    folder: Path, study: Path, on_cell: Callable[[int, int], None] | None = None
) -> Imported:
    """Read a tree of result files into a new study; what its names span but lacks is missing.

    `on_cell` is told after each checkpoint and task how many of how many are read. Example ids are
    positions: `17/872` is number 17 of 872, so runs of other lengths share none.

    Raises:
        StudyError: there is nothing to import, a dataset stands under two kinds, or `study` is
            one already.
    """
    root = folder / "results" if (folder / "results").is_dir() else folder
    places, skipped = _find(root)
    grid = _span(folder, places, skipped)
    writer = StudyWriter(study)
    tasks = {task.name: task for task in grid.tasks}
    checkpoints = {checkpoint.name: checkpoint for checkpoint in grid.checkpoints}
    recipes = {
        recipe.learning_rate: recipe for points in grid.recipes.values() for recipe in points
    }
    cells = [list(of_cell) for _, of_cell in itertools.groupby(places, _cell_of)]
    for number, of_cell in enumerate(cells, start=1):
        ids = cache(_ids)
        writer.add_cell(
            [
                _read(
                    place,
                    ForeignRun.model_construct(
                        source=SOURCE,
                        task=tasks[place.task],
                        checkpoint=checkpoints[place.checkpoint],
                        recipe=recipes[place.rate],
                        seed=place.seed,
                    ),
                    ids,
                )
                for place in of_cell
            ]
        )
        if on_cell is not None:
            on_cell(number, len(cells))
    return writer.finish(grid)


def _cell_of(place: _Place) -> tuple[str, str]:
    return place.checkpoint, place.task


def _find(root: Path) -> tuple[list[_Place], list[SkippedCheckpoint]]:
    """Walk the four levels of folders; what does not fit the layout is skipped by name."""
    places, skipped = [], []
    for checkpoint in _folders(root):
        for kind in _folders(checkpoint):
            if kind.name not in KINDS:
                reason = f"{kind.name}: no kind of EncodEval's ({', '.join(KINDS)})"
                skipped.append(SkippedCheckpoint(name=checkpoint.name, reason=reason))
                continue
            for task in _folders(kind):
                for run in _folders(task):
                    names = _RUN.fullmatch(run.name)
                    file = run / RESULT_FILE
                    if names is None:
                        reason = f"{kind.name}/{task.name}/{run.name}: not named lr<rate>_sd<seed>"
                        skipped.append(SkippedCheckpoint(name=checkpoint.name, reason=reason))
                    elif file.is_file():
                        rate, seed = float(names["rate"]), int(names["seed"])
                        where = (checkpoint.name, task.name, kind.name)
                        places.append(_Place(file, *where, rate, seed, names["trained_on"]))
    if not places:
        raise StudyError(
            f"{root}: no result files; they are looked for as "
            "<checkpoint>/<SC|TC|QA|IR>/<dataset>/lr<rate>_sd<seed>/results.json"
        )
    return places, skipped


def _folders(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise StudyError(f"{folder}: no such folder")
    yield from sorted(child for child in folder.iterdir() if child.is_dir())


def _span(folder: Path, places: list[_Place], skipped: list[SkippedCheckpoint]) -> ForeignGrid:
    """Plan every checkpoint on every dataset at every rate and seed that occurs."""
    folders: dict[str, str] = {}
    rates: defaultdict[str, set[float]] = defaultdict(set)
    trained_on: dict[str, str | None] = {}
    for place in places:
        if folders.setdefault(place.task, place.folder) != place.folder:
            raise StudyError(
                f"{folder}: dataset {place.task!r} stands under {folders[place.task]} and under "
                f"{place.folder}; rename one"
            )
        rates[place.task].add(place.rate)
        trained_on.setdefault(place.task, place.trained_on)
    by_kind = sorted(folders, key=lambda name: (list(KINDS).index(folders[name]), name))
    return ForeignGrid(
        foreign=SOURCE,
        name=folder.resolve().name,
        tasks=tuple(
            ForeignTask(
                name=name,
                kind=KINDS[folders[name]][0],
                metrics=(KINDS[folders[name]][1],),
                trained_on=trained_on[name],
            )
            for name in by_kind
        ),
        checkpoints=tuple(
            ForeignCheckpoint(name=name, columns=parse_name(name))
            for name in dict.fromkeys(place.checkpoint for place in places)
        ),
        recipes={
            name: tuple(ForeignRecipe(learning_rate=rate) for rate in sorted(rates[name]))
            for name in by_kind
        },
        seeds=tuple(sorted({place.seed for place in places})),
        sweep=("learning_rate",),
        skipped=tuple(skipped),
    )


Ids = Callable[[int, str], tuple[str, ...]]


def _ids(length: int, draw: str) -> tuple[str, ...]:
    return tuple(f"{number}/{length}{draw}" for number in range(1, length + 1))


def _read(place: _Place, run: ForeignRun, ids: Ids) -> Result:
    """Read one file; a damaged one is a run that failed, not the end of the import."""
    finished = place.file.stat().st_mtime
    draw = f" of seed {place.seed}" if place.task.lower() in SPLITS_DRAWN_BY_SEED else ""
    scores: Scores = {}
    examples: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
    try:
        content = json.loads(place.file.read_bytes())
        for split in SPLITS:
            if split in content:
                score, of_examples = _checked(split, content[split])
                scores[split] = {run.task.main_metric: score}
                if of_examples.size:
                    examples[split] = ids(of_examples.size, draw), of_examples
    except (ValueError, TypeError, KeyError) as error:
        what = f"no key {error}" if isinstance(error, KeyError) else str(error)
        return Result(run, finished, fault=f"{place.file}: {what}")
    if not scores:
        return Result(run, finished, fault=f"{place.file}: neither validation nor test")
    return Result(run, finished, scores, dict(examples))


def _checked(split: str, content: Any) -> tuple[float, NDArray[np.float64]]:
    score = float(content["score"])
    examples = np.asarray(content.get("scores_i", ()), dtype=np.float64)
    if not math.isfinite(score) or not np.isfinite(examples).all():
        raise ValueError(f"a {split} score is not a finite number")
    if examples.size and abs(examples.mean() - score) > MEAN_TOLERANCE:
        raise ValueError(
            f"the {split} score {score} is not the mean of its scores_i, {examples.mean():.6f}"
        )
    return score, examples
