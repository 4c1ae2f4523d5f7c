"""The commands that look at what there is: task cards and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from harness.data import Collection
    from harness.spec import Task

tasks = typer.Typer(
    help="List, show and check task cards: what is learnt, from which data, how it is scored.",
    no_args_is_help=True,
)
EXAMPLE_WIDTH = 300


@tasks.command("list")
def list_tasks(tasks: options.Tasks = None) -> None:
    """List the task cards, shipped ones and those of --tasks."""
    from harness.tasks import load_tasks

    grid = Table(box=None, pad_edge=False)
    for name in ("task", "kind", "scored by"):
        grid.add_column(name, no_wrap=True)
    grid.add_column("what it asks", overflow="fold")
    for card in load_tasks(tasks or []).values():
        grid.add_row(card.name, card.kind, card.main_metric, escape(card.description))
    Console().print(grid)


@tasks.command("show")
def show_task(
    name: Annotated[str, typer.Argument(help="A task's name.")],
    tasks: options.Tasks = None,
    data_root: options.DataRoot = None,
) -> None:
    """Print a card as it is understood; with --data-root also its first training example."""
    from harness.tasks import find_task, load_tasks

    card = find_task(name, load_tasks(tasks or []))
    Console().print_json(card.model_dump_json(exclude_none=True))
    if data_root is not None:
        from harness.data import load_examples

        _show_example(load_examples(card, data_root).parts["train"])


@tasks.command("check")
def check_task(
    file: Annotated[Path, typer.Argument(help="A card's YAML file, or the name of a known task.")],
    tasks: options.Tasks = None,
    data_root: options.DataRoot = None,
) -> None:
    """Check a card against its data: every fault at its line, else the counts of each split."""
    from harness.data import load_examples
    from harness.metrics import check_metrics
    from harness.tasks import find_task, load_task_file, load_tasks

    is_file = file.suffix in {".yaml", ".yml"} or file.exists()
    card = load_task_file(file) if is_file else find_task(str(file), load_tasks(tasks or []))
    check_metrics(card)
    examples = load_examples(card, data_root)
    grid = Table("split", "examples", "what is in it", "fingerprint", box=None, pad_edge=False)
    for role, part in examples.parts.items():
        count, content = _describe(card, part)
        grid.add_row(role, count, escape(content), examples.fingerprints[role])
    out = Console()
    out.print(f"[bold]{card.name}[/] ({card.kind}), {examples.source} data")
    out.print(grid)


def checkpoints(
    folder: Annotated[str, typer.Argument(help="A folder of checkpoints, or a hub id.")],
    attention: options.Attention = None,
    pooling: options.Pooling = None,
) -> None:
    """List the checkpoints of a folder in their order, and what is skipped and why."""
    from harness.checkpoints import discover

    found = discover(folder, attention=attention, pooling=pooling)  # type: ignore[arg-type]
    grid = Table(
        "checkpoint", "parameters", "attention", "pooling", "fingerprint", box=None, pad_edge=False
    )
    for item in found.checkpoints:
        size = f"{item.parameters / 1e6:,.1f} M" if item.parameters else "?"
        grid.add_row(escape(item.name), size, item.attention, item.pooling, item.fingerprint)
    out = Console()
    out.print(grid)
    for skipped in found.skipped:
        out.print(
            f"[yellow]skipped[/] {escape(str(skipped.path))}: {escape(skipped.reason)}",
            soft_wrap=True,
        )


def fetch(
    grid: options.GridFile,
    checkpoints: Annotated[
        list[str] | None, typer.Option("--checkpoints", "-c", help="Hub ids to bring. Repeatable.")
    ] = None,
    tasks: options.Tasks = None,
) -> None:
    """Bring a grid's data and checkpoints from the hub once, for machines without internet."""
    from pydantic import TypeAdapter

    from harness.checkpoints import discover
    from harness.data import load_examples
    from harness.grid import Grid, find_grid_file, task_folders
    from harness.tasks import find_task, load_tasks
    from harness.yamlio import load_yaml

    file = find_grid_file(grid)
    catalogue = load_tasks(task_folders(file, tasks or []))
    out = Console()
    for name in load_yaml(file, TypeAdapter(Grid)).tasks:
        card = find_task(name, catalogue)
        if card.data.hub is None:
            out.print(f"{name}: native files only; copy them and give --data-root")
            continue
        with out.status(f"fetching {name}"):
            examples = load_examples(card, None)
        counts = ", ".join(
            f"{_describe(card, part)[0]} {role}" for role, part in examples.parts.items()
        )
        out.print(f"{name}: {counts}")
    for root in checkpoints or []:
        with out.status(f"fetching {root}"):
            found = discover(root)
        for item in found.checkpoints:
            out.print(f"{escape(item.name)}: {escape(item.path)}")


def _describe(card: Task, part: pd.DataFrame | Collection) -> tuple[str, str]:
    """Give the count of a split and a line on its labels."""
    from harness.data import Collection

    if isinstance(part, Collection):
        judged = f"{len(part.qrels):,} judgements, {len(part.corpus):,} documents"
        return f"{len(part.queries):,} queries", judged
    if card.kind == "sequence_classification":
        counts = part["label"].value_counts()
        content = ", ".join(f"{name} {counts.get(i, 0):,}" for i, name in enumerate(card.labels))
    elif card.kind == "sequence_regression":
        content = (
            f"{part['label'].min():g} to {part['label'].max():g}, mean {part['label'].mean():.3g}"
        )
    elif card.kind == "token_classification":
        begun = part["tags"].explode().dropna()
        counts = begun[begun.str.startswith("B-")].str.slice(2).value_counts()
        content = ", ".join(f"{label} {count:,}" for label, count in counts.items())
    else:
        answered = int(part["answers"].map(bool).sum())
        content = f"{answered:,} with an answer, {len(part) - answered:,} without"
    return f"{len(part):,}", content


def _show_example(part: pd.DataFrame | Collection) -> None:
    from harness.data import Collection

    frame = part.queries if isinstance(part, Collection) else part
    out = Console()
    for column, value in frame.iloc[0].items():
        text = str(value)
        shortened = text if len(text) <= EXAMPLE_WIDTH else f"{text[:EXAMPLE_WIDTH]} ..."
        out.print(f"[bold]{column}[/]: {escape(shortened)}", soft_wrap=True)
