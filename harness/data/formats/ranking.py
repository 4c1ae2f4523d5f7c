"""Retrieval files: BEIR folders and MS MARCO / TREC files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.data.formats.lines import read_json_lines, read_lines, split_tsv
from harness.errors import DataError

BEIR_WIDTH, TREC_WIDTH = 3, 4
LINES_AT_ONCE = 100_000
"""Lines of a collection that are in pieces at once: MS MARCO's 8.8 million would fill 20 GB."""


def read_tsv_texts(path: Path) -> pd.DataFrame:
    """Read `id<TAB>text` lines (topics, or MS MARCO's collection) into id, text."""
    lines = read_lines(path)
    blocks = []
    for begin in range(0, len(lines), LINES_AT_ONCE):
        some = lines[begin : begin + LINES_AT_ONCE]
        table = split_tsv(path, some, 2, range(begin + 1, begin + len(some) + 1))
        fields = {"id": [r[0].strip() for r in table], "text": [r[1].strip() for r in table]}
        blocks.append(pd.DataFrame(fields))
    return unique_texts(pd.concat(blocks, ignore_index=True), str(path))


def read_beir_texts(path: Path) -> pd.DataFrame:
    """Read corpus.jsonl or queries.jsonl into id, title ("" where there is none), text."""
    return beir_frame(read_json_lines(path), str(path))


def beir_frame(items: Sequence[dict[str, Any]], origin: str) -> pd.DataFrame:
    """Make id, title, text of BEIR's objects with `_id`, `text` and perhaps `title`."""
    for number, item in enumerate(items, start=1):
        if item.get("_id") is None or not isinstance(item.get("text"), str):
            raise DataError(f"{origin}:{number}: needs `_id` and `text`, has {', '.join(item)}")
        if not isinstance(item.get("title") or "", str):
            raise DataError(f"{origin}:{number}: `title` is {item['title']!r} instead of a text")
    frame = pd.DataFrame(
        {
            "id": [str(item["_id"]) for item in items],
            "title": [(item.get("title") or "").strip() for item in items],
            "text": [item["text"].strip() for item in items],
        }
    )
    return unique_texts(frame, origin)


def unique_texts(frame: pd.DataFrame, origin: str) -> pd.DataFrame:
    """Refuse a frame without rows or with an id that occurs twice."""
    if not len(frame):
        raise DataError(f"{origin}: it is empty")
    twice = frame["id"].duplicated()
    if twice.any():
        row = int(twice.to_numpy().argmax())
        raise DataError(
            f"{origin}:{row + 1}: id {frame['id'][row]!r} occurs twice; ids must be unique"
        )
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
        str(path),
        first_line,
    )


def _judgement(line: str) -> list[str]:
    """Split a line at its tabs where it has two or more (ids may hold blanks), else at blanks."""
    fields = [field.strip() for field in line.strip().split("\t")]
    return fields if len(fields) >= BEIR_WIDTH else line.split()


def unique_qrels(qrels: pd.DataFrame, origin: str, first_line: int = 1) -> pd.DataFrame:
    """Refuse a pair with two different grades; a judgement that repeats another goes."""
    repeated = qrels.duplicated()
    twice = qrels.duplicated(["query_id", "document_id"]) & ~repeated
    if twice.any():
        row = int(twice.to_numpy().argmax())
        raise DataError(
            f"{origin}:{row + first_line}: query {qrels['query_id'][row]!r} and document "
            f"{qrels['document_id'][row]!r} have two different grades"
        )
    return qrels[~repeated].reset_index(drop=True)
