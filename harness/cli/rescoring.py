"""The command that computes metrics of a study from its stored predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.cli import options
from harness.cli.progress import item_progress

if TYPE_CHECKING:
    from harness.rescore import Rescoring

SOME_FAILED = 1
FAULTS_SHOWN = 10


def rescore(
    study: options.Study,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", help="A metric to compute. Repeatable. Default: those of the cards."
        ),
    ] = None,
) -> None:
    """Compute metrics from stored predictions, without training; `table --metric` shows them.

    Each metric is computed for the tasks that have it. The records stay as they are: new scores are
    kept beside the ledger, and count from then on.
    """
    from harness.rescore import rescore as rescore_study

    console = Console(stderr=True)
    with item_progress(console, "scoring") as progress:

        def on_run(record: Mapping[str, Any]) -> None:
            progress.count(f"{record['checkpoint']} on {record['task']}")

        outcome = rescore_study(study, metric or (), on_plan=progress.start, on_run=on_run)
    _show(outcome, Console())
    if not outcome.faults:
        return
    for run_id, fault in list(outcome.faults.items())[:FAULTS_SHOWN]:
        console.print(f"[yellow]not scored[/] {run_id}: {escape(fault)}", soft_wrap=True)
    console.print(f"{len(outcome.faults):,} runs could not be scored")
    raise typer.Exit(SOME_FAILED)


def _show(outcome: Rescoring, out: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("metric", "runs", "with a value", "new", "changed"):
        table.add_column(column, no_wrap=True, justify="left" if column == "metric" else "right")
    for name, tally in outcome.tallies.items():
        counts = (tally.runs, tally.valued, tally.added, tally.changed)
        table.add_row(escape(name), *(f"{count:,}" for count in counts))
    out.print(table)
