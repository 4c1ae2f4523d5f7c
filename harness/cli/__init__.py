"""The command line: parse, call, print. Commands import heavy modules themselves: help is quick."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.markup import escape

from harness.cli import cards, catalogue, claims, demo, imports, rescoring, studies
from harness.version import __version__

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="harness",
    help="Large-scale fine-tuning evaluation: which checkpoint is better at what?\n\n"
    "Every checkpoint is fine-tuned on every task at several learning rates with several seeds; "
    "the results come back with confidence intervals. Begin with `harness demo`.\n\n"
    "Exit codes: 0 all runs ok, 1 some runs failed or diverged, 2 bad input, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("plan")(studies.plan)
app.command("run")(studies.run)
app.command("status")(studies.status)
app.command("table")(claims.table)
app.command("compare")(claims.compare)
app.command("rank")(claims.rank)
app.command("sensitivity")(claims.sensitivity)
app.command("export")(claims.export)
app.command("rescore")(rescoring.rescore)
app.add_typer(cards.tasks, name="tasks")
app.command("checkpoints")(catalogue.checkpoints)
app.command("fetch")(catalogue.fetch)
app.add_typer(imports.imports, name="import")
app.command("demo")(demo.demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Print the version and stop.",
    ),
) -> None:
    pass


def main() -> None:
    """Run the command line; a fault that the user can put right prints without a traceback."""
    from harness.errors import HarnessError

    try:
        app()
    except HarnessError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted")
        sys.exit(INTERRUPTED)
