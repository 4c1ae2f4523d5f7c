"""Cranfield 1400 as it is handed down: SMART sections (`.I .T .A .B .W`) and coded judgements."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.data.formats.lines import read_lines
from harness.data.formats.ranking import unique_qrels, unique_texts
from harness.errors import DataError

_SECTIONS = frozenset({".T", ".A", ".B", ".W"})
NO_INTEREST = 5


def read_cranfield_documents(path: Path) -> pd.DataFrame:
    """Read `cran.all.1400` into id, title, text; white space is made even."""
    items = _read_sections(path)
    frame = pd.DataFrame(
        {
            "id": [number for number, _ in items],
            "title": [sections.get(".T", "") for _, sections in items],
            "text": [sections.get(".W", "") for _, sections in items],
        }
    )
    return unique_texts(frame, str(path))


def read_cranfield_queries(path: Path) -> pd.DataFrame:
    """Read `cran.qry` into id, text.

    The judgements count queries by position, from 1; the numbers in the file have gaps.
    """
    items = _read_sections(path)
    ids = [str(position) for position in range(1, len(items) + 1)]
    texts = [sections.get(".W", "") for _, sections in items]
    return unique_texts(pd.DataFrame({"id": ids, "text": texts}), str(path))


def read_cranfield_qrels(path: Path) -> pd.DataFrame:
    """Read `cranqrel` (query, document, code) into query_id, document_id, relevance.

    Codes go from 1, a complete answer, to 5, of no interest, so the grade is 5 less the code. The
    code -1, which its readme does not define and which each query has once, counts as 0.
    """
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split()
        if len(fields) != 3 or fields[2] not in {"-1", "1", "2", "3", "4", "5"}:
            raise DataError(f"{path}:{number}: not a query, a document and a code (-1, 1 to 5)")
        code = int(fields[2])
        rows.append((fields[0], fields[1], 0 if code < 0 else NO_INTEREST - code))
    qrels = pd.DataFrame(rows, columns=["query_id", "document_id", "relevance"])
    return unique_qrels(qrels, str(path))


def _read_sections(path: Path) -> list[tuple[str, dict[str, str]]]:
    """Read items as their number and the text of each section."""
    items: list[tuple[str, dict[str, list[str]]]] = []
    section = ""
    for number, line in enumerate(read_lines(path), start=1):
        mark = line.rstrip()
        if mark.startswith(".I "):
            items.append((mark[3:].strip(), {}))
            section = ""
        elif not items:
            raise DataError(f"{path}:{number}: must begin with `.I NUMBER`")
        elif mark in _SECTIONS:
            section = mark
        else:
            items[-1][1].setdefault(section, []).extend(line.split())
    return [
        (number, {name: " ".join(words) for name, words in sections.items()})
        for number, sections in items
    ]
