from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console

from harness.report import (
    LaidCell,
    Layout,
    to_csv,
    to_markdown,
    to_terminal,
    write_parquet,
)
from harness.results import load_study
from tests.small_study import records_of, small_grid, write_study

LAYOUT = Layout(
    header=("checkpoint", "sst2 (accuracy)", "squad_v2 (f1)"),
    rows=(
        (LaidCell("mlm_40"), LaidCell("0.912 ± 0.020 (3/3)", is_best=True), LaidCell("— (2/3)")),
        (LaidCell("clm"), LaidCell("0.90 ± 0.10 (3/3)†‡"), LaidCell("0.5 ± 1.3 (3/3)")),
    ),
    caption="Student t over seeds, 95 %.",
    notes=("clm, squad_v2: 1 run failed: a|b & c",),
)


def test_markdown_is_a_table_with_caption_and_notes():
    assert to_markdown(LAYOUT) == (
        "| checkpoint | sst2 (accuracy)         | squad_v2 (f1)   |\n"
        "| ---------- | ----------------------- | --------------- |\n"
        "| mlm_40     | **0.912 ± 0.020 (3/3)** | — (2/3)         |\n"
        "| clm        | 0.90 ± 0.10 (3/3)†‡     | 0.5 ± 1.3 (3/3) |\n"
        "\n"
        "Student t over seeds, 95 %.\n"
        "\n"
        "- clm, squad_v2: 1 run failed: a\\|b & c\n"
    )


def test_a_table_without_notes_ends_after_its_caption():
    layout = Layout(LAYOUT.header, LAYOUT.rows, LAYOUT.caption, ())
    assert to_markdown(layout).endswith("\n\nStudent t over seeds, 95 %.\n")


def printed(width):
    console = Console(file=io.StringIO(), width=width)
    console.print(to_terminal(LAYOUT))
    return console.file.getvalue()


def test_the_terminal_shows_cells_caption_and_notes():
    lines = [line.rstrip() for line in printed(100).splitlines()]
    assert " mlm_40      0.912 ± 0.020 (3/3)  — (2/3)" in lines
    assert "Student t over seeds, 95 %." in lines
    assert "- clm, squad_v2: 1 run failed: a|b & c" in lines


def test_a_narrow_terminal_loses_no_number():
    words = printed(40).split()
    assert {"0.912", "0.020", "(3/3)", "(3/3)†‡", "(2/3)"} <= set(words)


def test_names_are_not_taken_for_markup():
    layout = Layout(("checkpoint",), ((LaidCell("[red]x[/red]"),),), "c", ("[bold]n",))
    console = Console(file=io.StringIO(), width=80)
    console.print(to_terminal(layout))
    assert "[red]x[/red]" in console.file.getvalue()
    assert "- [bold]n" in console.file.getvalue()


@pytest.fixture
def table(tmp_path):
    grid = small_grid()
    records = [record for record in records_of(grid) if record["task"] == "sst2"]
    return load_study(write_study(tmp_path / "study", grid, records)).table()


def test_csv_leaves_absent_values_empty(table):
    lines = to_csv(table).splitlines()
    assert lines[0].startswith("checkpoint,task,kind,metric,split,learning_rate,point,at_edge,mean")
    assert lines[2].startswith("mlm_40,stsb,sequence_regression,spearman,test,,,,,,,,0,3,,")
    assert len(lines) == 5


def test_parquet_gives_back_the_same_frame(table, tmp_path):
    write_parquet(table, tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), table)
    assert [path.name for path in tmp_path.glob("*.parquet*")] == ["table.parquet"]
    assert not list(tmp_path.glob(".*"))


def test_a_column_of_numbers_and_words_is_written_as_words(tmp_path):
    sizes = pd.DataFrame({"size": pd.Series([7, "7b", None], dtype=object)})
    write_parquet(sizes, tmp_path / "sizes.parquet")
    found = pd.read_parquet(tmp_path / "sizes.parquet")["size"]
    assert found[:2].tolist() == ["7", "7b"]
    assert pd.isna(found[2])
