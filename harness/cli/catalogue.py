"""The commands that look at what there is: task cards and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from harness.data import Collection
    from harness.spec import Checkpoint, Task

tasks = typer.Typer(
    help="List, show and check task cards: what is learnt, from which data, how it is scored.",
    no_args_is_help=True,
)
EXAMPLE_WIDTH = 300
PIPED_WIDTH = 2_000


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
    folders: Annotated[
        list[str], typer.Argument(help="Folders of checkpoints, files that list some, or hub ids.")
    ],
    attention: options.Attention = None,
    pooling: options.Pooling = None,
    tokenizer: options.Tokenizer = None,
    name_pattern: options.NamePattern = None,
    random_init: options.RandomInit = False,
) -> None:
    """List checkpoints in their order, what is known of them, and what is skipped and why."""
    from harness.checkpoints import discover

    found = discover(folders, **choose(attention, pooling, tokenizer, name_pattern, random_init))
    # Piped, a line stays a line, however long.
    out = Console() if Console().is_terminal else Console(width=PIPED_WIDTH)
    out.print(_checkpoint_table(found.checkpoints))
    for item in found.checkpoints:
        if item.tokenizer is not None:
            out.print(
                f"{escape(item.name)}: its tokenizer is that of {escape(item.tokenizer)}",
                soft_wrap=True,
            )
    for skipped in found.skipped:
        out.print(
            f"[yellow]skipped[/] {escape(str(skipped.path))}: {escape(skipped.reason)}",
            soft_wrap=True,
        )


def choose(
    attention: str | None,
    pooling: str | None,
    tokenizer: str | None,
    name_pattern: str | None,
    random_init: bool,
) -> dict[str, Any]:
    """Check the options that say how checkpoints are read: arguments of `discover`."""
    from typing import get_args

    from harness.errors import InputError
    from harness.spec import Attention, Pooling

    for option, value, allowed in (
        ("--attention", attention, get_args(Attention)),
        ("--pooling", pooling, get_args(Pooling)),
    ):
        if value is not None and value not in allowed:
            raise InputError(f"{option} {value}: must be one of {', '.join(allowed)}")
    return {
        "attention": attention,
        "pooling": pooling,
        "tokenizer": tokenizer,
        "name_pattern": name_pattern,
        "random_init": random_init,
    }


def _checkpoint_table(checkpoints: Sequence[Checkpoint]) -> Table:
    """Lay out checkpoints, a row each, with a column for all that is known of some."""
    known = list(dict.fromkeys(name for item in checkpoints for name in item.columns))
    grid = Table(box=None, pad_edge=False)
    for name in ("checkpoint", "parameters", "attention", "pooling", *known, "fingerprint"):
        grid.add_column(escape(name), no_wrap=True)
    for item in checkpoints:
        size = f"{item.parameters / 1e6:,.1f} M" if item.parameters else "?"
        columns = [escape(str(item.columns.get(name, ""))) for name in known]
        grid.add_row(
            escape(item.name), size, item.attention, item.pooling, *columns, item.fingerprint
        )
    return grid


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
    from harness.grid import Grid, find_grid_file
    from harness.metrics import check_metrics
    from harness.tasks import find_task, load_tasks
    from harness.yamlio import load_yaml

    catalogue = load_tasks(tasks or [])
    out = Console()
    for name in load_yaml(find_grid_file(grid), TypeAdapter(Grid)).tasks:
        card = find_task(name, catalogue)
        check_metrics(card)  # brings the modules of `evaluate` that it names
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
