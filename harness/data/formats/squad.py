"""The official SQuAD JSON, 1.1 and 2.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.data.formats.lines import read_text
from harness.data.rows import Rows
from harness.errors import DataError


def read_squad(path: Path) -> Rows:
    """Read id, question, context and answers of every question, in file order.

    A question marked as impossible has no answers; plausible ones are left out, as in the official
    scoring. Raises DataError for a file of another shape.
    """
    try:
        articles = json.loads(read_text(path))["data"]
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not JSON ({error.msg})") from None
    except (KeyError, TypeError):
        raise DataError(f"{path}: no `data`; this is not SQuAD's own layout") from None
    columns: dict[str, list[Any]] = {"id": [], "question": [], "context": [], "answers": []}
    where = "data"
    try:
        for number, article in enumerate(articles):
            for paragraph_number, paragraph in enumerate(article["paragraphs"]):
                where = f"data[{number}].paragraphs[{paragraph_number}]"
                for item in paragraph["qas"]:
                    impossible = item.get("is_impossible", False)
                    columns["id"].append(item["id"])
                    columns["question"].append(item["question"])
                    columns["context"].append(paragraph["context"])
                    columns["answers"].append([] if impossible else item.get("answers", []))
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: {where}: not SQuAD's own layout (missing: {error})") from None
    if not columns["id"]:
        raise DataError(f"{path}: it has no questions")
    return Rows(columns, str(path))
