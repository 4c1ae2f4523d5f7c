"""The commands that look for checkpoints, and bring what a grid needs from the hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.cli import options

if TYPE_CHECKING:
    from harness.spec import Checkpoint

PIPED_WIDTH = 2_000


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
    from harness.data import count_examples, load_examples
    from harness.grid import Grid, find_grid_file, task_folders
    from harness.metrics import check_metrics
    from harness.tasks import find_task, load_tasks
    from harness.yamlio import load_yaml

    file = find_grid_file(grid)
    catalogue = load_tasks(task_folders(file, tasks or []))
    out = Console()
    for name in load_yaml(file, TypeAdapter(Grid)).tasks:
        card = find_task(name, catalogue)
        check_metrics(card)  # brings the modules of `evaluate` that it names
        if card.data.hub is None:
            out.print(f"{name}: native files only; copy them and give --data-root")
            continue
        with out.status(f"fetching {name}"):
            examples = load_examples(card, None)
        counts = ", ".join(
            f"{count_examples(part):,} {split}" for split, part in examples.parts.items()
        )
        out.print(f"{name}: {counts}")
    for root in checkpoints or []:
        with out.status(f"fetching {root}"):
            found = discover(root)
        for item in found.checkpoints:
            out.print(f"{escape(item.name)}: {escape(item.path)}")
