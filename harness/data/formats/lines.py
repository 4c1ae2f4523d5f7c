"""Text files as lines, the one way in which every native format is read."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import DataError


def read_text(path: Path) -> str:
    """Read a UTF-8 file (gzipped where its name ends in .gz) without its byte-order mark.

    Raises DataError where the file is missing, unreadable or empty.
    """
    content = _read_bytes(path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(path, content[: error.start].count(b"\n") + 1, error) from None


def read_lines(path: Path) -> list[str]:
    r"""Split a file at "\n" alone, so that no other separator in a text breaks its row.

    A "\r" at the end of a line and empty lines at the end of the file go. Raises DataError as
    `read_text`.
    """
    lines: list[str] = []
    try:
        # Decoded line by line: in one str a single rare character makes all the others as wide.
        for line in io.BytesIO(_read_bytes(path)):
            lines.append(line.decode().removesuffix("\n").removesuffix("\r"))  # noqa: PERF401
    except UnicodeDecodeError as error:
        raise _not_utf8(path, len(lines) + 1, error) from None
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _read_bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check --data-root and the task card") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: can't be read: {error}") from error
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content or content.isspace():
        raise DataError(f"{path}: the file is empty")
    return content


def _not_utf8(path: Path, line: int, error: UnicodeDecodeError) -> DataError:
    return DataError(f"{path}:{line}: not UTF-8 ({error.reason}); convert the file")


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line."""
    objects = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}:{number}: not JSON ({error})") from None
        if not isinstance(value, dict):
            raise DataError(f"{path}:{number}: not a JSON object")
        objects.append(value)
    return objects


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
