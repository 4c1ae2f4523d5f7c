"""CoNLL files: one token a line, sentences apart by blank lines."""

from __future__ import annotations

import re
from pathlib import Path

from harness.data.formats.lines import read_lines
from harness.data.rows import Rows
from harness.errors import DataError
from harness.spec import ConllFiles

_BLANKS = re.compile(r"[ \t]+")


def read_conll(path: Path, source: ConllFiles, words: str, tags: str) -> Rows:
    """Read sentences into the columns `words` and `tags`, a list of str a sentence.

    Fields are apart by tabs, or by blanks on a line without a tab. A line of only white space ends
    a sentence; a comment ends nothing. Raises DataError for a line that lacks its fields.
    """
    columns: dict[str, list[list[str]]] = {words: [], tags: []}
    lines: list[int] = []
    width = 0
    in_sentence = False
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip(" \t"):
            in_sentence = False
            continue
        if source.comment is not None and line.startswith(source.comment):
            continue
        fields = line.split("\t") if "\t" in line else _BLANKS.split(line.strip(" "))
        width = width or len(fields)
        token, tag = _pick(path, number, fields, width, source)
        if not in_sentence:
            columns[words].append([])
            columns[tags].append([])
            lines.append(number)
            in_sentence = True
        columns[words][-1].append(token)
        columns[tags][-1].append(tag)
    if not lines:
        raise DataError(f"{path}: it has no sentences")
    return Rows(dict(columns), str(path), lines)


def _pick(
    path: Path, number: int, fields: list[str], width: int, source: ConllFiles
) -> tuple[str, str]:
    if len(fields) != width:
        raise DataError(f"{path}:{number}: {len(fields)} fields instead of {width}; correct it")
    try:
        token, tag = fields[source.token_column], fields[source.tag_column]
    except IndexError:
        raise DataError(
            f"{path}:{number}: {width} fields, but the task card asks for column "
            f"{source.token_column} (token) and {source.tag_column} (tag)"
        ) from None
    if width < 2 or not token.strip() or not tag.strip():
        raise DataError(f"{path}:{number}: a token and a tag are needed, there is {fields!r}")
    return token, tag.strip()
