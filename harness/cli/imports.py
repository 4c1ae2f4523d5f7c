"""The commands that make a study out of what other tools measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

if TYPE_CHECKING:
    from harness.imports import Imported

imports = typer.Typer(
    help="Make a study of results that another tool measured; it can be read, not run.",
    no_args_is_help=True,
)
SKIPPED_SHOWN = 20
StudyFolder = Annotated[
    Path | None,
    typer.Option("--study", help="Where the study is kept. Default: results/<name of the source>."),
]


@imports.command("encodeval")
def encodeval(
    folder: Annotated[Path, typer.Argument(help="The folder of EncodEval's results.")],
    study: StudyFolder = None,
) -> None:
    """Import EncodEval's tree of result files; what its names span but lacks counts as missing."""
    from harness.imports import import_encodeval

    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("reading")
        _say(
            import_encodeval(
                folder,
                study or _default(folder),
                lambda done, total: progress.update(bar, completed=done, total=total),
            )
        )


@imports.command("csv")
def table(
    file: Annotated[Path, typer.Argument(help="A CSV file (or .tsv): a row a score.")],
    columns: Annotated[
        str,
        typer.Option(
            help="What the file calls our columns: checkpoint=model,task=dataset,score=acc,... "
            "Others: kind, metric, split, seed, example, any field of a recipe, ignore=A+B."
        ),
    ] = "",
    kind: Annotated[str | None, typer.Option(help="The kind of all tasks of the file.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Of all scores; docs/metrics.md says where lower is better."),
    ] = None,
    study: StudyFolder = None,
) -> None:
    """Import a table of scores; columns of no known name must say something of the checkpoint."""
    from harness.imports import import_table

    _say(
        import_table(
            file, study or _default(file), columns=_pairs(columns), kind=kind, metric=metric
        )
    )


def _default(source: Path) -> Path:
    return Path("results") / source.resolve().stem


def _pairs(text: str) -> dict[str, str]:
    from harness.errors import InputError

    pairs = {}
    for part in filter(None, text.split(",")):
        ours, sign, theirs = part.partition("=")
        if not sign or not ours or not theirs:
            raise InputError(f"--columns {part}: write checkpoint=model,task=dataset,...")
        pairs[ours.strip()] = theirs.strip()
    return pairs


def _say(done: Imported) -> None:
    out = Console()
    out.print(f"{done.good:,} runs with scores, {done.broken:,} broken, {done.missing:,} missing")
    for skipped in done.skipped[:SKIPPED_SHOWN]:
        out.print(f"[yellow]skipped[/] {escape(skipped.name)}: {escape(skipped.reason)}")
    if len(done.skipped) > SKIPPED_SHOWN:
        out.print(f"and {len(done.skipped) - SKIPPED_SHOWN} more; `harness status` has them all")
    out.print(f"harness table {escape(str(done.study))}")
