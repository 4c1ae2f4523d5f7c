"""ReCoRD's jsonl (as in SuperGLUE): a passage a line, queries with a gap, inclusive ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.data.formats.lines import read_json_lines
from harness.data.rows import Rows
from harness.errors import DataError


def read_record(path: Path) -> Rows:
    """Read id, question (the query with its `@placeholder`), context and answers, in file order.

    Every mention of the entity that fills the gap is an answer. Raises DataError for a file of
    another shape, for a query without answers (SuperGLUE hides those of its test set), and where
    the two ends of a span do not hold its text.
    """
    columns: dict[str, list[Any]] = {"id": [], "question": [], "context": [], "answers": []}
    lines = []
    for number, item in enumerate(read_json_lines(path), start=1):
        place = f"{path}:{number}"
        try:
            text = item["passage"]["text"]
            for asked in item["qas"]:
                columns["id"].append(str(asked["idx"]))
                columns["question"].append(asked["query"])
                columns["context"].append(text)
                columns["answers"].append([_answer(a, place) for a in asked.get("answers", [])])
                lines.append(number)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{place}: not ReCoRD's own layout (missing: {error})") from None
    if not lines:
        raise DataError(f"{path}: it has no queries")
    return Rows(columns, str(path), lines)


def _answer(given: dict[str, Any], place: str) -> dict[str, Any]:
    """Turn a span with an inclusive end into a text and its offset."""
    text, start, end = given["text"], given["start"], given["end"]
    if end - start + 1 != len(text):
        raise DataError(
            f"{place}: answer {text!r} has {len(text)} characters, but the span {start} to {end} "
            f"(both inclusive) has {end - start + 1}. Correct the file"
        )
    return {"text": text, "answer_start": start}
