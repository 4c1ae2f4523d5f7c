"""The commands that read results: tables, comparisons, sensitivities, frames for elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from harness.cli import options
from harness.cli.showing import show

if TYPE_CHECKING:
    from harness.results import Study

BY_VALIDATION = "validation"
PER_SEED = "per-seed"


def table(
    study: options.Study,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="task or kind: the columns. checkpoint, learning_rate, or what is known of "
            "checkpoints (size, objective, step ...): the rows. Repeatable. Default: task."
        ),
    ] = None,
    where: options.Where = None,
    also: options.Also = None,
    metric: options.Metric = None,
    split: options.Split = "test",
    select: options.Select = BY_VALIDATION,
    interval: Annotated[
        str,
        typer.Option(
            help="What the interval counts: other seeds; both seeds and examples; nested: the "
            "choice of the rate too."
        ),
    ] = "seeds",
    allow_incomplete: Annotated[
        bool,
        typer.Option("--allow-incomplete", help="Let rates with failed or missing runs be chosen."),
    ] = False,
    form: options.Format = "terminal",
    output: options.Output = None,
) -> None:
    """Show test means with 95 % intervals: a row a checkpoint, a column a task."""
    from harness.errors import InputError
    from harness.report import lay_out

    names = by or ["task"]
    if "learning_rate" in names and (select != BY_VALIDATION or allow_incomplete):
        raise InputError("--by learning_rate shows every rate: nothing is chosen")
    loaded = load(study, also, where)
    frame = loaded.table(
        metric,
        split,
        selection(select),
        allow_incomplete,
        by=names,
        interval=interval,  # type: ignore[arg-type]
    )
    is_plain = names == ["task"] and select == BY_VALIDATION and not allow_incomplete
    tied = _tied(loaded, frame, metric, split, interval) if is_plain else frozenset()
    show(frame, lambda: lay_out(loaded, frame, tied), form, output)


def compare(
    study: options.Study,
    a: Annotated[
        str | None,
        typer.Argument(help="A checkpoint, or column=value: all that have it (objective=clm)."),
    ] = None,
    b: Annotated[str | None, typer.Argument(help="Another one, or another column=value.")] = None,
    all_pairs: Annotated[
        bool, typer.Option("--all", help="Every pair: a matrix, with groups not told apart.")
    ] = False,
    where: options.Where = None,
    also: options.Also = None,
    metric: options.Metric = None,
    split: options.Split = "test",
    select: options.Select = BY_VALIDATION,
    interval: Annotated[
        str, typer.Option(help="both: paired examples and seeds; seeds: the seeds of each side.")
    ] = "both",
    correction: Annotated[
        str, typer.Option(help="For many comparisons: holm, or bh (Benjamini-Hochberg).")
    ] = "holm",
    form: options.Format = "terminal",
    output: options.Output = None,
) -> None:
    """Compare two checkpoints, or two groups of them, task by task: paired and corrected."""
    from harness.errors import InputError
    from harness.report import lay_out_comparison, lay_out_matrix
    from harness.results import ALL_TASKS

    loaded = load(study, also, where)
    asked: dict[str, Any] = {"interval": interval, "correction": correction}
    if all_pairs and a is None:
        pairs = loaded.compare_all(metric, split, selection(select), **asked)
        if pairs.empty:
            raise InputError("there are no two checkpoints with all runs good on one task")
        # The matrix is of all tasks together; --where task=NAME gives that of one.
        last = ALL_TASKS if ALL_TASKS in set(pairs["task"]) else pairs["task"].iloc[0]
        matrix = pairs[pairs["task"] == last]
        show(pairs, lambda: lay_out_matrix(matrix, loaded.checkpoints), form, output)
        return
    if a is None or b is None or all_pairs:
        raise InputError("give two checkpoints (or column=value twice), or --all")
    frame = loaded.compare(a, b, metric, split, selection(select), **asked)
    show(frame, lambda: lay_out_comparison(frame, loaded.tasks), form, output)


def rank(
    study: options.Study,
    where: options.Where = None,
    also: options.Also = None,
    metric: options.Metric = None,
    split: options.Split = "test",
    select: options.Select = BY_VALIDATION,
    form: options.Format = "terminal",
    output: options.Output = None,
) -> None:
    """Rank checkpoints over all tasks: mean rank, mean, interquartile mean, median; intervals."""
    from harness.report import lay_out_over_tasks

    frame = load(study, also, where).over_tasks(metric, split, selection(select))
    show(frame, lambda: lay_out_over_tasks(frame), form, output)


def sensitivity(
    study: options.Study,
    where: options.Where = None,
    also: options.Also = None,
    metric: options.Metric = None,
    split: options.Split = "test",
    form: options.Format = "terminal",
    output: options.Output = None,
) -> None:
    """Show how much each checkpoint depends on the learning rate, and what tuning would bring."""
    from harness.report import lay_out_sensitivity

    frame = load(study, also, where).sensitivity(metric, split)
    show(frame, lambda: lay_out_sensitivity(frame), form, output)


def export(
    study: options.Study,
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder; made where needed.")],
    where: options.Where = None,
    also: options.Also = None,
    form: Annotated[str, typer.Option("--format", help="parquet or csv.")] = "parquet",
) -> None:
    """Write the frames of a study into a folder: records, scores, missing, table, rates."""
    from harness import report
    from harness.errors import InputError

    if form not in {"parquet", "csv"}:
        raise InputError(f"--format {form}: must be parquet or csv")
    loaded = load(study, also, where)
    frames = {
        "records": loaded.records,
        "scores": loaded.scores,
        "missing": loaded.missing,
        "table": loaded.table(),
        "rates": loaded.rates(),
    }
    output.mkdir(parents=True, exist_ok=True)
    out = Console()
    for name, frame in frames.items():
        path = output / f"{name}.{form}"
        if form == "parquet":
            report.write_parquet(frame, path)
        else:
            path.write_text(report.to_csv(frame), encoding="utf-8")
        out.print(f"{escape(str(path))}: {len(frame):,} rows", soft_wrap=True)


def load(study: Path, also: Sequence[Path] | None, where: Sequence[str] | None) -> Study:
    """Read one or several studies, and keep the runs that --where asks for."""
    from harness.errors import InputError
    from harness.results import load_study

    loaded = load_study([study, *(also or [])])
    kept: dict[str, list[str]] = {}
    dropped: dict[str, list[str]] = {}
    for text in where or []:
        column, sign, value = text.partition("=")
        if not sign or not column.rstrip("!"):
            raise InputError(f"--where {text}: write column=value or column!=value")
        conditions = dropped if column.endswith("!") else kept
        conditions.setdefault(column.rstrip("!"), []).append(value)
    if kept:
        loaded = loaded.where(**kept)
    for column, values in dropped.items():
        loaded = loaded.without(**{column: values})
    return loaded


def selection(text: str) -> str | float:
    """Read --select: validation, per-seed, or one learning rate for all cells."""
    from harness.errors import InputError
    from harness.results import BY_VALIDATION as ON_VALIDATION
    from harness.results import PER_SEED as EACH_SEED

    words = {BY_VALIDATION: ON_VALIDATION, PER_SEED: EACH_SEED}
    if text in words:
        return words[text]
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"--select {text}: must be {BY_VALIDATION}, {PER_SEED} or a learning rate"
        ) from None


def _tied(
    loaded: Study, frame: Any, metric: str | None, split: str, interval: str
) -> frozenset[tuple[str, str]]:
    """Find the cells that can't be told apart from the best of their task."""
    from harness.errors import StudyError

    if frame["half_width"].isna().all():
        return frozenset()
    try:
        best = loaded.best(metric, split, interval="seeds" if interval == "seeds" else "both")
    except StudyError:  # the table's notes say which examples are not there
        return frozenset()
    pairs = zip(best["task"], best["tied"], strict=True)
    return frozenset((name, task) for task, names in pairs for name in names)
