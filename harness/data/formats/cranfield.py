"""Cranfield 1400 as it is handed down: SMART sections (`.I .T .A .B .W`) and coded judgements."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.data.formats.lines import read_lines
from harness.data.formats.ranking import Kept, text_frame, unique_qrels
from harness.errors import DataError

_SECTIONS = frozenset({".T", ".A", ".B", ".W"})
NO_INTEREST = 5


def read_cranfield_documents(path: Path, kept: Kept = None) -> pd.DataFrame:
    """Read `cran.all.1400` (or documents kept) into id, title, text; white space is made even."""
    rows = (
        (line, identifier, sections.get(".T", ""), sections.get(".W", ""))
        for line, identifier, sections in _read_sections(path)
    )
    return text_frame(("id", "title", "text"), rows, lambda line: f"{path}:{line}", kept)


def read_cranfield_queries(path: Path) -> pd.DataFrame:
    """Read `cran.qry` into id, text.

    The judgements count queries by position, from 1; the numbers in the file have gaps.
    """
    rows = (
        (line, str(position), sections.get(".W", ""))
        for position, (line, _, sections) in enumerate(_read_sections(path), start=1)
    )
    return text_frame(("id", "text"), rows, lambda line: f"{path}:{line}")


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
    return unique_qrels(qrels, lambda row: f"{path}:{row + 1}")


def _read_sections(path: Path) -> list[tuple[int, str, dict[str, str]]]:
    """Read items as the line they begin at, their number, and the text of each section."""
    items: list[tuple[int, str, dict[str, list[str]]]] = []
    section = ""
    for number, line in enumerate(read_lines(path), start=1):
        mark = line.rstrip()
        if mark.startswith(".I "):
            items.append((number, mark[3:].strip(), {}))
            section = ""
        elif not items:
            raise DataError(f"{path}:{number}: must begin with `.I NUMBER`")
        elif mark in _SECTIONS:
            section = mark
        else:
            items[-1][2].setdefault(section, []).extend(line.split())
    return [
        (line, number, {name: " ".join(words) for name, words in sections.items()})
        for line, number, sections in items
    ]
