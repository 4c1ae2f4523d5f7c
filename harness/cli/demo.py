"""The demo: a generated world, three small checkpoints, one task of each kind, all offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cli import options, studies
from harness.cli.showing import show

SEED = 0


def demo(
    study: Annotated[
        Path, typer.Option("--study", help="Where the study and its made-up world are kept.")
    ] = Path("results/demo"),
    workers: options.Workers = None,
    address: options.Address = None,
) -> None:
    """Fine-tune three small checkpoints on five made-up tasks, offline, and print the tables.

    Makes a small world (a corpus and a task of each kind) and three checkpoints pretrained on it,
    runs 3 checkpoints x 5 tasks x 3 learning rates x 3 seeds, and shows what a real study shows.
    """
    from harness.report import lay_out
    from harness.results import load_study
    from harness.toy import make_all

    world = study / "world"
    with Console(stderr=True).status("making a small world and pretraining three checkpoints"):
        make_all(world, SEED)
    grid = studies.load("demo", [str(world / "checkpoints")], None, {})
    place = studies.make_place(world / "data", workers, "auto", None, address)
    failed = None
    try:
        studies.execute(grid, study, place)
    except typer.Exit as stop:
        if stop.exit_code != studies.SOME_FAILED:
            raise
        failed = stop
    loaded = load_study(study)
    out = Console()
    chosen, rates = loaded.table(), loaded.rates()
    out.rule("test scores, rate chosen on validation: harness table")
    show(chosen, lambda: lay_out(loaded, chosen))
    out.rule("every rate: harness table --by learning_rate")
    show(rates, lambda: lay_out(loaded, rates))
    if failed is not None:
        raise failed
