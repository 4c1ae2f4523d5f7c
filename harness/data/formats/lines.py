"""Text files as lines, the one way in which every native format is read."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from harness.errors import DataError

_BLANKS = " \t\n\r\v\f"


def read_text(path: Path) -> str:
    """Read a UTF-8 file (gzipped where its name ends in .gz) without its byte-order mark.

    Raises DataError where the file is missing, unreadable or empty.
    """
    with _opened(path) as file:
        content = file.read().removeprefix(codecs.BOM_UTF8)
    if not content or content.isspace():
        raise _empty(path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(path, content[: error.start].count(b"\n") + 1, error) from None


def read_lines(path: Path) -> list[str]:
    """Read all lines of a file at once; see `iterate_lines`."""
    return list(iterate_lines(path))


def iterate_lines(path: Path) -> Iterator[str]:
    r"""Read a file line by line, parted at "\n" alone: no other separator in a text breaks its row.

    A "\r" at the end of a line and empty lines at the end of the file go. Raises DataError as
    `read_text`, when it gets there.
    """
    blank: list[str] = []
    has_text = False
    for line in _decode_lines(path):
        if not line.strip(_BLANKS):
            blank.append(line)  # of the end of the file, unless a text follows
            continue
        has_text = True
        yield from blank
        blank.clear()
        yield line
    if not has_text:
        raise _empty(path)
    while blank and not blank[-1]:
        blank.pop()
    yield from blank


def _decode_lines(path: Path) -> Iterator[str]:
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            try:
                text = content.decode()
            except UnicodeDecodeError as error:
                for _ in file:  # of a damaged archive that is to be said, which its end shows
                    pass
                raise _not_utf8(path, number, error) from None
            yield text.removesuffix("\n").removesuffix("\r")


@contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check --data-root and the task card") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: can't be read: {error}") from error


def _empty(path: Path) -> DataError:
    return DataError(f"{path}: the file is empty")


def _not_utf8(path: Path, line: int, error: UnicodeDecodeError) -> DataError:
    return DataError(f"{path}:{line}: not UTF-8 ({error.reason}); convert the file")


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line."""
    return list(iterate_json_lines(path))


def iterate_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of one JSON object a line, object by object."""
    for number, line in enumerate(iterate_lines(path), start=1):
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}:{number}: not JSON ({error})") from None
        if not isinstance(value, dict):
            raise DataError(f"{path}:{number}: not a JSON object")
        yield value


def split_tsv(
    path: Path, lines: Sequence[str], width: int, numbers: Sequence[int]
) -> list[list[str]]:
    """Split lines at tabs, without any quoting; DataError naming each row of another width.

    `numbers` are those of the lines in the file.
    """
    rows = [line.split("\t") for line in lines]
    ragged = [place for place, row in enumerate(rows) if len(row) != width]
    if ragged:
        found = ", ".join(f"line {numbers[n]}: {len(rows[n])}" for n in ragged[:10])
        raise DataError(
            f"{path}:{numbers[ragged[0]]}: {len(ragged)} rows do not have {width} fields "
            f"({found}{', ...' if len(ragged) > 10 else ''}). Rows are never dropped silently: "
            "correct or remove these lines"
        )
    return rows
