"""The commands that look for checkpoints, and bring what a grid needs from the hub."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.cli import options


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
    from harness.data import count_examples, load_examples
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
            f"{count_examples(part):,} {split}" for split, part in examples.parts.items()
        )
        out.print(f"{name}: {counts}")
    for root in checkpoints or []:
        with out.status(f"fetching {root}"):
            found = discover(root)
        for item in found.checkpoints:
            out.print(f"{escape(item.name)}: {escape(item.path)}")
