"""Tables of rows: GLUE's TSV, csv, jsonl, parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.data.formats.lines import read_json_lines, read_lines, read_text, split_tsv
from harness.data.rows import Rows
from harness.errors import DataError
from harness.spec import TableFiles


def read_table(path: Path, source: TableFiles) -> Rows:
    """Read every row of a table, in file order, the columns under their card names.

    Raises DataError for a missing, empty or unreadable file and for a row of another width.
    """
    match source.format:
        case "glue_tsv":
            rows = _read_glue_tsv(path, source.columns)
        case "csv":
            rows = _read_csv(path, source.columns)
        case "jsonl":
            rows = _read_jsonl(path)
        case "parquet":
            rows = _read_parquet(path)
    return rows.renamed(source.rename)


def _read_glue_tsv(path: Path, columns: Sequence[str] | None) -> Rows:
    lines = read_lines(path)
    first_line = 1
    if columns is None:
        columns, lines, first_line = lines[0].split("\t"), lines[1:], 2
    table = split_tsv(path, lines, len(columns), first_line)
    return _rows(path, columns, table, range(first_line, first_line + len(table)))


def _read_csv(path: Path, columns: Sequence[str] | None) -> Rows:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
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
