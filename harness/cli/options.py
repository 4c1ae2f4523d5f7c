"""The options that several commands share, each with its help text in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

PIPED_WIDTH = 160


def table_console() -> Console:
    """Make a console for tables; piped, rich would assume 80 columns and fold the cells."""
    return Console() if Console().is_terminal else Console(width=PIPED_WIDTH)


def _folder_that_is_there(data_root: Path | None) -> Path | None:
    from harness.errors import InputError

    if data_root is not None and not data_root.is_dir():
        raise InputError(f"--data-root {data_root}: no such folder")
    return data_root


Checkpoints = Annotated[
    list[str],
    typer.Option(
        "--checkpoints",
        "-c",
        help="A folder of checkpoints, one of them, a file that lists some, or a hub id "
        "`org/name@revision`. Repeatable.",
    ),
]
GridFile = Annotated[
    str,
    typer.Option("--grid", "-g", help="A grid file, or the name of a shipped grid (lr_seed.yaml)."),
]
Tasks = Annotated[
    list[Path] | None,
    typer.Option(
        "--tasks",
        help="A folder of task cards of your own; they win over shipped ones. Repeatable.",
    ),
]
DataRoot = Annotated[
    Path | None,
    typer.Option(
        "--data-root",
        callback=_folder_that_is_there,
        help="Where native data files lie. Else those beside a card are used, else the hub's.",
    ),
]
StudyFolder = Annotated[
    Path | None,
    typer.Option("--study", help="Where the study is kept. Default: results/<name of the grid>."),
]
Study = Annotated[Path, typer.Argument(help="The study's folder, such as results/demo.")]
Attention = Annotated[
    str | None,
    typer.Option(help="native, bidirectional or causal, for every checkpoint. Default: native."),
]
Pooling = Annotated[
    str | None,
    typer.Option(
        help="mean, first or last, for every checkpoint. Default: last if causal, else mean."
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(help="Folder of the tokenizer for checkpoints without one. Default: the parent."),
]
NamePattern = Annotated[
    str | None,
    typer.Option(
        help="A regular expression that is searched in the checkpoints' paths; its named groups, "
        "as in '(?P<size>\\d+m)-(?P<objective>[a-z]+)', become columns."
    ),
]
RandomInit = Annotated[
    bool,
    typer.Option(
        "--random-init", help="Add a control with random weights for each config of a checkpoint."
    ),
]
RetryFailed = Annotated[
    bool,
    typer.Option("--retry-failed", help="Run failed runs again; without it they stay as they are."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, help="Runs at a time. Default: one a core (or GPU slot) that is free for it."
    ),
]
ThreadsPerRun = Annotated[
    str, typer.Option(help="Threads of a run on the CPU; auto: one for small checkpoints.")
]
GpusPerRun = Annotated[
    float | None,
    typer.Option(min=0, help="GPUs of a run, fractions allowed: 0.25 puts four runs on a card."),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="A Ray cluster (auto, ray://host:10001), or local: a plain loop without Ray."
    ),
]
Also = Annotated[
    list[Path] | None,
    typer.Option("--also", help="Another study, read together with the first. Repeatable."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        help="Keep runs with column=value, or without it (column!=value): task, kind, checkpoint, "
        "seed, a number of the recipe, or what is known of checkpoints. Repeatable: values of one "
        "column add up."
    ),
]
Metric = Annotated[str | None, typer.Option(help="Default: the first metric of each card.")]
Split = Annotated[str, typer.Option(help="test, validation, or a further test set of a card.")]
Select = Annotated[
    str,
    typer.Option(
        help="validation: the rate of each cell with the best mean validation score; per-seed: of "
        "each run; or one learning rate for all cells."
    ),
]
Format = Annotated[
    str,
    typer.Option("--format", help="terminal, md, latex, csv, json, or parquet (with --output)."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]
