"""How commands give a result: on the terminal, as text in a format, or into a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from harness.report import Layout

PIPED_WIDTH = 160


def show(
    frame: pd.DataFrame,
    layout: Callable[[], Layout],
    form: str = "terminal",
    output: Path | None = None,
) -> None:
    """Print a frame as it is laid out or as data, or write it to a file."""
    from harness import report
    from harness.errors import InputError

    if form == "parquet":
        if output is None:
            raise InputError("--format parquet needs --output FILE")
        report.write_parquet(frame, output)
        return
    if form == "terminal" and output is None:
        # Piped, rich would assume 80 columns and fold the cells.
        out = Console() if Console().is_terminal else Console(width=PIPED_WIDTH)
        out.print(report.to_terminal(layout()))
        return
    writers = {
        "md": lambda: report.to_markdown(layout()),
        "latex": lambda: report.to_latex(layout()),
        "csv": lambda: report.to_csv(frame),
        "json": lambda: report.to_json(frame),
    }
    if form not in writers:
        raise InputError(f"--format {form}: must be terminal, md, latex, csv, json or parquet")
    text = writers[form]()
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
