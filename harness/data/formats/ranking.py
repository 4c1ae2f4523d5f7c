"""Retrieval files: BEIR folders and MS MARCO / TREC files."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from harness.data.formats.lines import iterate_json_lines, iterate_lines, read_lines, split_tsv
from harness.errors import DataError

BEIR_WIDTH, TREC_WIDTH = 3, 4
LINES_AT_ONCE = 100_000
"""Lines of a collection that are in pieces at once: MS MARCO's 8.8 million would fill 20 GB."""


Kept = Set[str] | None
"""The ids of the documents that are kept; None: all of them."""
Place = Callable[[int], str]
"""Says where the row of a number lies, for errors."""


def read_tsv_texts(path: Path, kept: Kept = None) -> pd.DataFrame:
    """Read `id<TAB>text` lines (topics, or MS MARCO's collection) into id, text.

    With `kept` only texts of these ids stay, and memory holds no others.
    """
    return text_frame(("id", "text"), _tsv_rows(path), lambda line: f"{path}:{line}", kept)


def _tsv_rows(path: Path) -> Iterator[tuple[int, str, str]]:
    lines = iterate_lines(path)
    first = 1
    while some := list(islice(lines, LINES_AT_ONCE)):
        numbers = range(first, first + len(some))
        for number, row in zip(numbers, split_tsv(path, some, 2, numbers), strict=True):
            yield number, row[0].strip(), row[1].strip()
        first = numbers.stop


def read_beir_texts(path: Path, kept: Kept = None) -> pd.DataFrame:
    """Read corpus.jsonl or queries.jsonl into id, title ("" where there is none), text.

    With `kept` only texts of these ids stay, and memory holds no others.
    """
    items = enumerate(iterate_json_lines(path), start=1)
    return beir_frame(items, lambda line: f"{path}:{line}", kept)


def beir_frame(
    items: Iterable[tuple[int, dict[str, Any]]], place: Place, kept: Kept = None
) -> pd.DataFrame:
    """Make id, title, text of BEIR's numbered objects with `_id`, `text` and perhaps `title`."""
    return text_frame(("id", "title", "text"), _beir_rows(items, place), place, kept)


def _beir_rows(
    items: Iterable[tuple[int, dict[str, Any]]], place: Place
) -> Iterator[tuple[int, str, str, str]]:
    for number, item in items:
        if item.get("_id") is None or not isinstance(item.get("text"), str):
            raise DataError(f"{place(number)}: needs `_id` and `text`, has {', '.join(item)}")
        title = item.get("title") or ""
        if not isinstance(title, str):
            raise DataError(f"{place(number)}: `title` is {title!r} instead of a text")
        yield number, str(item["_id"]), title.strip(), item["text"].strip()


def text_frame(
    columns: Sequence[str], rows: Iterable[tuple[Any, ...]], place: Place, kept: Kept = None
) -> pd.DataFrame:
    """Make a frame of rows of (number, id, other columns), of all ids or of those kept.

    Raises DataError for an id that occurs twice. With `kept` that is only looked for among the ids
    that stay: to know it of all others would be to hold them in memory.
    """
    wanted = iter(rows) if kept is None else (row for row in rows if row[1] in kept)
    numbers = array("q")
    blocks = [pd.DataFrame(columns=list(columns), dtype="str")]
    while some := list(islice(wanted, LINES_AT_ONCE)):
        numbers.extend(row[0] for row in some)
        values = {name: [row[at] for row in some] for at, name in enumerate(columns, start=1)}
        blocks.append(pd.DataFrame(values, dtype="str"))
    frame = pd.concat(blocks, ignore_index=True)
    twice = frame["id"].duplicated()
    if twice.any():
        row = int(twice.to_numpy().argmax())
        where, name = place(numbers[row]), frame["id"][row]
        raise DataError(f"{where}: id {name!r} occurs twice; ids must be unique")
    return frame


def read_qrels(path: Path) -> pd.DataFrame:
    """Read judgements into query_id, document_id, relevance (int64).

    Four columns by blanks or tabs (TREC, MS MARCO: query, iteration, document, grade), or three by
    tabs under a header (BEIR: query, document, grade). Raises DataError for a pair with two
    different grades.
    """
    lines = read_lines(path)
    fields = [_judgement(line) for line in lines]
    first_line = 1
    if len(fields[0]) == BEIR_WIDTH and not fields[0][-1].lstrip("+-").isdigit():
        fields, first_line = fields[1:], 2
    width = len(fields[0]) if fields else 0
    if width not in (BEIR_WIDTH, TREC_WIDTH):
        raise DataError(f"{path}:{first_line}: qrels have 3 or 4 columns, there are {width}")
    grades = []
    for line, row in enumerate(fields, start=first_line):
        try:
            if len(row) != width:
                raise ValueError(f"{len(row)} fields instead of {width}")
            grades.append(int(row[-1]))
        except ValueError as error:
            raise DataError(f"{path}:{line}: not a judgement ({error}); correct it") from None
    return unique_qrels(
        pd.DataFrame(
            {
                "query_id": [row[0] for row in fields],
                "document_id": [row[-2] for row in fields],
                "relevance": pd.Series(grades, dtype="int64"),
            }
        ),
        lambda row: f"{path}:{row + first_line}",
    )


def _judgement(line: str) -> list[str]:
    """Split a line at its tabs where it has two or more (ids may hold blanks), else at blanks."""
    fields = [field.strip() for field in line.strip().split("\t")]
    return fields if len(fields) >= BEIR_WIDTH else line.split()


def unique_qrels(qrels: pd.DataFrame, place: Place) -> pd.DataFrame:
    """Refuse a pair with two different grades; a judgement that repeats another goes.

    `place` is asked for the row of the frame that the second grade is in.
    """
    repeated = qrels.duplicated()
    twice = qrels.duplicated(["query_id", "document_id"]) & ~repeated
    if twice.any():
        row = int(twice.to_numpy().argmax())
        raise DataError(
            f"{place(row)}: query {qrels['query_id'][row]!r} and document "
            f"{qrels['document_id'][row]!r} have two different grades"
        )
    return qrels[~repeated].reset_index(drop=True)
