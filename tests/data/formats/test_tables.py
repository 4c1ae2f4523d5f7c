"""Tables of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from harness.data.formats.tables import read_table
from harness.errors import DataError
from harness.spec import TableFiles


def files(format: str, **more: Any) -> TableFiles:
    return TableFiles(format=format, train="a", test="b", **more)  # type: ignore[arg-type]


def test_glue_rows_are_never_quoted(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(
        b'\xef\xbb\xbfQuality\t#1 String\r\n1\t"Unbalanced\r\n0\t"""Doubled"" quotes\r\n1\tlast'
    )
    rows = read_table(path, files("glue_tsv", rename={"#1 String": "text", "Quality": "label"}))
    assert rows.columns == {
        "label": ["1", "0", "1"],
        "text": ['"Unbalanced', '"""Doubled"" quotes', "last"],
    }
    assert rows.place(2) == f"{path}:4"


def test_a_file_without_a_header_takes_the_cards_columns(tmp_path: Path) -> None:
    path = tmp_path / "cola.tsv"
    path.write_text("gj04\t1\t\tThe sailors rode.\ngj04\t0\t*\tRode the sailors.\n")
    rows = read_table(path, files("glue_tsv", columns=["source", "label", "mark", "sentence"]))
    assert rows.columns["sentence"] == ["The sailors rode.", "Rode the sailors."]
    assert rows.columns["mark"] == ["", "*"]
    assert rows.place(0) == f"{path}:1"


def test_every_ragged_row_is_named_and_none_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("text\tlabel\na\t1\nb\n\nc\t0\textra\n")
    with pytest.raises(
        DataError, match=r"a\.tsv:3: 3 rows .* 2 fields \(line 3: 1, line 4: 1, line 5: 3\)"
    ):
        read_table(path, files("glue_tsv"))


def test_short_rows_are_left_out_and_counted_where_the_card_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\ttext\tlabel\n1\ta\t1\n2\tb\n\n4\t\t0\n5\te\t1\n")
    rows = read_table(path, files("glue_tsv", short_rows="leave_out"))
    assert rows.columns == {"id": ["1", "4", "5"], "text": ["a", "", "e"], "label": ["1", "0", "1"]}
    assert rows.left_out == 2
    assert [rows.place(row) for row in range(3)] == [f"{path}:{line}" for line in (2, 5, 6)]
    path.write_text("1\ta\t1\n2\tb\n3\tc\t0\n")
    names = ["id", "text", "label"]
    rows = read_table(path, files("glue_tsv", columns=names, short_rows="leave_out"))
    assert (rows.columns["text"], rows.left_out, rows.place(1)) == (["a", "c"], 1, f"{path}:3")
    path.write_text("1\ta\t1\n")
    assert read_table(path, files("glue_tsv", columns=names)).left_out is None


def test_rows_with_too_many_fields_are_refused_even_then(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("text\tlabel\nshort\na\t1\nb\tc\t0\nd\t1\te\tf\n")
    message = r"a\.tsv:4: 2 rows do not have 2 fields \(line 4: 3, line 5: 4\)"
    with pytest.raises(DataError, match=message):
        read_table(path, files("glue_tsv", short_rows="leave_out"))
    path.write_text("text\tlabel\nshort\n")
    with pytest.raises(DataError, match="a header but no rows"):
        read_table(path, files("glue_tsv", short_rows="leave_out"))


def test_short_rows_are_a_matter_of_tabs_alone() -> None:
    with pytest.raises(ValidationError, match="`short_rows` is given with `format: glue_tsv`"):
        files("csv", short_rows="leave_out")


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_columns_are_not_given_where_files_name_theirs(format_: str) -> None:
    with pytest.raises(ValidationError, match=f"{format_} names its columns itself"):
        files(format_, columns=("text", "label"))


def test_a_header_alone_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("text\tlabel\n")
    with pytest.raises(DataError, match="a header but no rows"):
        read_table(tmp_path / "a.tsv", files("glue_tsv"))
    (tmp_path / "b.tsv").write_text("text\ttext\na\tb\n")
    with pytest.raises(DataError, match="two columns have the same name"):
        read_table(tmp_path / "b.tsv", files("glue_tsv"))


def test_csv_fields_may_hold_commas_quotes_and_newlines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,label\n"one, ""two""\nthree",1\nfour,0\n\n')
    rows = read_table(path, files("csv"))
    assert rows.columns == {"text": ['one, "two"\nthree', "four"], "label": ["1", "0"]}
    assert rows.place(1) == f"{path}:4"
    path.write_text("text,label\na,1,2\n")
    with pytest.raises(DataError, match=r"a\.csv:2: 3 fields instead of 2"):
        read_table(path, files("csv"))
    path.write_text('text,label\n"a,1\n')
    with pytest.raises(DataError, match="not CSV"):
        read_table(path, files("csv"))


def test_a_csv_field_may_be_as_long_as_a_document(tmp_path: Path) -> None:
    text = "word " * 40_000  # Python's reader refuses more than 131,072 characters by default
    (tmp_path / "a.csv").write_text(f"text,label\n{text},1\n")
    assert read_table(tmp_path / "a.csv", files("csv")).columns["text"] == [text]


def test_jsonl_keeps_lists_and_types(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["a", "b"], "label": true}\n{"tokens": [], "label": false}\n')
    rows = read_table(path, files("jsonl"))
    assert rows.columns == {"tokens": [["a", "b"], []], "label": [True, False]}


def test_parquet_is_read_and_bad_parquet_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"tokens": [["a"], ["b", "c"]], "label": [1, 0]}).to_parquet(path)
    rows = read_table(path, files("parquet"))
    assert rows.columns == {"tokens": [["a"], ["b", "c"]], "label": [1, 0]}
    assert rows.place(1) == f"{path}: row 1"
    path.write_bytes(b"PAR1 broken")
    with pytest.raises(DataError, match="can't be read as parquet"):
        read_table(path, files("parquet"))
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.parquet", files("parquet"))
