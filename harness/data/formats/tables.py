"""Tables of rows: GLUE's TSV, csv, jsonl, parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.data.formats.lines import read_json_lines, read_lines, read_text, split_tsv
from harness.data.rows import Rows
from harness.errors import DataError
from harness.spec import TableFiles


def read_table(path: Path, source: TableFiles) -> Rows:
    """Read every row of a table, in file order, the columns under their card names.

    Rows with too few fields are left out and counted where the card says so. Raises DataError for a
    missing, empty or unreadable file and for any other row of another width.
    """
    match source.format:
        case "glue_tsv":
            rows = _read_glue_tsv(path, source.columns, source.short_rows == "leave_out")
        case "csv":
            rows = _read_csv(path, source.columns)
        case "jsonl":
            rows = _read_jsonl(path)
        case "parquet":
            rows = _read_parquet(path)
    return rows.renamed(source.rename)


def _read_glue_tsv(path: Path, columns: Sequence[str] | None, leave_out: bool) -> Rows:
    lines = read_lines(path)
    numbers: Sequence[int] = range(1, len(lines) + 1)
    if columns is None:
        columns, lines, numbers = lines[0].split("\t"), lines[1:], numbers[1:]
    if not leave_out:
        return _rows(path, columns, split_tsv(path, lines, len(columns), numbers), numbers)
    tabs = len(columns) - 1
    kept = [place for place, line in enumerate(lines) if line.count("\t") >= tabs]
    kept_lines, kept_numbers = [lines[n] for n in kept], [numbers[n] for n in kept]
    table = split_tsv(path, kept_lines, len(columns), kept_numbers)
    rows = _rows(path, columns, table, kept_numbers)
    return replace(rows, left_out=len(lines) - len(kept))


def _read_csv(path: Path, columns: Sequence[str] | None) -> Rows:
    text = read_text(path)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a document may be a long field
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    table, lines, before = [], [], 0
    try:
        for row in reader:
            table.append(row)
            lines.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        raise DataError(f"{path}:{before + 1}: not CSV ({error})") from None
    while table and not table[-1]:
        table.pop()
    if columns is None:
        columns, table, lines = table[0], table[1:], lines[1:]
    for row, line in zip(table, lines, strict=False):
        if len(row) != len(columns):
            raise DataError(f"{path}:{line}: {len(row)} fields instead of {len(columns)}")
    return _rows(path, columns, table, lines)


def _rows(path: Path, columns: Sequence[str], table: list[list[str]], lines: Sequence[int]) -> Rows:
    if len(set(columns)) != len(columns):
        raise DataError(f"{path}: two columns have the same name: {', '.join(columns)}")
    if not table:
        raise DataError(f"{path}: it has a header but no rows")
    values: list[list[Any]] = [list(column) for column in zip(*table, strict=True)]
    return Rows(dict(zip(columns, values, strict=True)), str(path), lines)


def _read_jsonl(path: Path) -> Rows:
    objects = read_json_lines(path)
    names = dict.fromkeys(name for item in objects for name in item)
    columns = {name: [item.get(name) for item in objects] for name in names}
    return Rows(columns, str(path), range(1, len(objects) + 1))


def _read_parquet(path: Path) -> Rows:
    # Imported here: the other formats do without it.
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check --data-root and the task card") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{path}: can't be read as parquet: {error}") from error
    if not len(table):
        raise DataError(f"{path}: it has no rows")
    return Rows(table.to_pydict(), str(path))
