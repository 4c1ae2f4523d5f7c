"""The commands that look at task cards: list, show, check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.cli import options

if TYPE_CHECKING:
    from harness.data.check import DataCheck, Texts
    from harness.data.fit import Fit
    from harness.spec import Task

tasks = typer.Typer(
    help="List, show and check task cards: what is learnt, from which data, how it is scored.",
    no_args_is_help=True,
)
EXAMPLE_WIDTH = 400
LEAK_WIDTH = 70
Tokenizer = Annotated[
    Path | None,
    typer.Option("--tokenizer", help="A checkpoint's folder: count and show its tokens, too."),
]


@tasks.command("list")
def list_tasks(tasks: options.Tasks = None) -> None:
    """List the task cards, shipped ones and those of --tasks."""
    from harness.tasks import load_tasks

    grid = Table(box=None, pad_edge=False)
    for name in ("task", "kind", "scored by", "data"):
        grid.add_column(name, no_wrap=True)
    grid.add_column("what it asks", overflow="fold")
    for card in load_tasks(tasks or []).values():
        source = card.data.hub.path if card.data.hub else "native files only"
        further = f" Also tested on {', '.join(card.further)}." if card.further else ""
        description = escape(card.description + further)
        grid.add_row(card.name, card.kind, card.main_metric, escape(source), description)
    options.table_console().print(grid)


@tasks.command("show")
def show_task(
    name: Annotated[str, typer.Argument(help="A task's name.")],
    tasks: options.Tasks = None,
    data_root: options.DataRoot = None,
    tokenizer: Tokenizer = None,
) -> None:
    """Print a card as it is understood, and an example as a checkpoint reads it.

    Without --data-root the example has its columns' names in place of texts.
    """
    from harness.data import load_examples
    from harness.data.preview import made_up_example, preview, preview_tokens
    from harness.tasks import find_task, load_tasks
    from harness.yamlio import to_yaml

    card = find_task(name, load_tasks(tasks or []))
    out = Console()
    out.print(escape(to_yaml(card)), end="", soft_wrap=True)
    is_made_up = data_root is None
    part = made_up_example(card) if is_made_up else load_examples(card, data_root).parts["train"]
    what = "an example, columns in place of texts" if is_made_up else "the first training example"
    out.print(f"\n[bold]{what}[/]")
    for label, text in preview(card, part):
        shortened = text if len(text) <= EXAMPLE_WIDTH else f"{text[:EXAMPLE_WIDTH]} ..."
        out.print(f"[bold]{label}[/]: {escape(shortened)}", soft_wrap=True)
    if tokenizer is not None:
        from harness.data.tokenizers import load_tokenizer

        for label, pieces in preview_tokens(card, part, load_tokenizer(tokenizer)):
            out.print(f"[bold]{label}, in tokens[/]: {escape(pieces)}", soft_wrap=True)


@tasks.command("check")
def check_task(
    file: Annotated[Path, typer.Argument(help="A card's YAML file, or the name of a known task.")],
    tasks: options.Tasks = None,
    data_root: options.DataRoot = None,
    tokenizer: Tokenizer = None,
) -> None:
    """Check a card against its data: faults at their lines, else labels, leaks and lengths."""
    from harness.data import load_examples
    from harness.data.check import check_examples
    from harness.metrics import check_metrics
    from harness.tasks import find_task, load_task_file, load_tasks

    is_file = file.suffix in {".yaml", ".yml"} or file.is_file()
    card = load_task_file(file) if is_file else find_task(str(file), load_tasks(tasks or []))
    check_metrics(card)
    examples = load_examples(card, data_root)
    out = options.table_console()
    out.print(f"[bold]{card.name}[/] ({card.kind}), {examples.source} data")
    _print_parts(out, card, check_examples(examples), examples.fingerprints)
    if tokenizer is not None:
        from harness.data.fit import check_fit
        from harness.data.tokenizers import load_config, load_tokenizer

        loaded = load_tokenizer(tokenizer)
        _print_fit(out, check_fit(examples, loaded, load_config(tokenizer)))


def _print_parts(out: Console, card: Task, found: DataCheck, fingerprints: dict[str, str]) -> None:
    grid = Table(box=None, pad_edge=False)
    for name in ("split", "examples", "empty", "repeated", "words: 50 %", "90 %", "99 %", "most"):
        grid.add_column(name, justify="left" if name == "split" else "right", no_wrap=True)
    grid.add_column("fingerprint", no_wrap=True)
    grid.add_column("what is in it", overflow="fold")
    for part in found.parts:
        counts = [f"{n:,}" for n in (part.examples, part.empty, part.repeated, *part.words)]
        remarks = [part.content]
        if part.over:
            remarks.append(f"at least {part.over:.1%} longer than max_length")
        if part.left_out is not None:
            remarks.append(f"left out for too few fields: {part.left_out:,}")
        content = "; ".join(filter(None, remarks))
        grid.add_row(part.name, *counts, fingerprints.get(part.name, ""), escape(content))
    out.print(grid)
    for part in found.parts:
        if part.contradiction is not None:
            have = "text has" if part.contradictions == 1 else "texts have"
            out.print(f"[yellow]{part.name}: {part.contradictions:,} {have} several labels[/]")
            shown, labels = part.contradiction.texts, ", ".join(part.contradiction.labels)
            out.print(f"    {escape(_short(shown))}: {escape(labels)}", soft_wrap=True)
    if not found.leaks:
        out.print("no example and no text of one split is in another")
    for leak in found.leaks:
        colour = "red" if leak.what == "examples" else "yellow"
        out.print(f"[{colour}]{leak.count:,} {leak.what} of {leak.second} are in {leak.first}[/]")
        for texts in leak.shown:
            out.print(f"    {escape(_short(texts))}", soft_wrap=True)


def _print_fit(out: Console, fits: tuple[Fit, ...]) -> None:
    grid = Table(box=None, pad_edge=False)
    for name in ("split", "tokens: 50 %", "90 %", "99 %", "most", "length", "longer"):
        grid.add_column(name, justify="left" if name == "split" else "right", no_wrap=True)
    grid.add_column("", overflow="fold")
    for fit in fits:
        numbers = [f"{n:,}" for n in (*fit.tokens, fit.length)]
        fate = fit.fate if fit.over else ""
        remark = ", ".join(filter(None, [fate, fit.lost]))
        grid.add_row(fit.name, *numbers, f"{fit.over:.1%}", remark)
    out.print()
    out.print(grid)


def _short(texts: Texts) -> str:
    return " | ".join(t if len(t) <= LEAK_WIDTH else f"{t[:LEAK_WIDTH]} ..." for t in texts)
