"""From the rows of a source to the standard columns of a kind, checked against the task card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from harness.data.labels import class_indices, scores
from harness.data.rows import Rows
from harness.data.templates import columns_of
from harness.errors import DataError
from harness.spec import (
    QuestionAnswering,
    Retrieval,
    SequenceClassification,
    SequenceRegression,
    Task,
    TokenClassification,
)


def standard_frame(task: Task, rows: Rows) -> pd.DataFrame:
    """Make the frame of a split (see `harness.data.frames`), the rows in the order of the source.

    White space around text columns goes, except for the context of a question, whose answers are
    given by their offsets. Raises DataError at the first row which is not what the card says.
    """
    if len(rows) == 0:
        raise DataError(f"{rows.origin}: it has no rows")
    match task:
        case SequenceClassification():
            columns = _texts(task, rows)
            return _frame(columns | {"label": class_indices(rows, task.label, task.labels)})
        case SequenceRegression():
            return _frame(_texts(task, rows) | {"label": scores(rows, task.label)})
        case TokenClassification():
            return _tagged_frame(task, rows)
        case QuestionAnswering():
            return _answered_frame(task, rows)
        case Retrieval():
            raise AssertionError("collections are made by harness.data.ranking")


def _frame(columns: Mapping[str, Any], ids: list[str] | None = None) -> pd.DataFrame:
    frame = pd.DataFrame(dict(columns))
    frame.insert(0, "id", [str(row) for row in range(len(frame))] if ids is None else ids)
    return frame


def _texts(task: SequenceClassification | SequenceRegression, rows: Rows) -> dict[str, list[str]]:
    names = columns_of(task.text)
    clash = sorted({"id", "label"} & set(names))
    if clash:
        raise DataError(
            f"task {task.name}: a text column can't be called {clash[0]!r}; use `rename`"
        )
    return {name: strip_texts(rows, name) for name in names}


def strip_texts(rows: Rows, name: str) -> list[str]:
    """Give a text column without white space at the ends; DataError where a text is missing."""
    values = rows.column(name)
    try:
        return [str.strip(value) for value in values]
    except TypeError:
        return [_text(value, rows, row, name).strip() for row, value in enumerate(values)]


def _text(value: Any, rows: Rows, row: int, name: str) -> str:
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or is_nan or isinstance(value, list | dict | bytes):
        raise DataError(f"{rows.place(row)}: column {name!r} holds {value!r} instead of a text")
    return str(value)


# --- tagging -------------------------------------------------------------------------------------


def _tagged_frame(task: TokenClassification, rows: Rows) -> pd.DataFrame:
    words, tags = rows.column(task.words), rows.column(task.tags)
    names = set(task.tag_names)
    declared = rows.class_names.get(task.tags) or task.tag_numbers or task.tag_names
    numbers = {str(number): name for number, name in enumerate(declared)}
    all_words, all_tags = [], []
    for row, (sentence, marks) in enumerate(zip(words, tags, strict=True)):
        if not isinstance(sentence, list) or not isinstance(marks, list):
            raise DataError(
                f"{rows.place(row)}: columns {task.words!r} and {task.tags!r} must hold lists; "
                "token classification reads conll, jsonl, parquet or the hub"
            )
        if len(sentence) != len(marks):
            raise DataError(f"{rows.place(row)}: {len(sentence)} words but {len(marks)} tags")
        named = [m if isinstance(m, str) else numbers.get(str(m), str(m)) for m in marks]
        check_iob2(named, names, rows.place(row))
        all_words.append([_text(word, rows, row, task.words) for word in sentence])
        all_tags.append(named)
    return _frame({"words": all_words, "tags": all_tags})


def check_iob2(tags: list[str], names: set[str], place: str) -> None:
    """Refuse a tag that the card does not have, and an I- that continues nothing."""
    before = "O"
    for position, tag in enumerate(tags):
        if tag not in names:
            why = (
                "the sentence has no tags; a split without labels can't be scored"
                if tag.lower() in {"-1", "_", ""}
                else f"the task card has {', '.join(sorted(names))}"
            )
            raise DataError(f"{place}: tag {tag!r} of word {position + 1} is unknown: {why}")
        if tag.startswith("I-") and before[1:] != tag[1:]:
            raise DataError(
                f"{place}: tag {tag!r} of word {position + 1} continues no entity, so this is not "
                "IOB2; convert the file (an entity begins with B- in IOB2, always)"
            )
        before = tag


# --- answers -------------------------------------------------------------------------------------


def _answered_frame(task: QuestionAnswering, rows: Rows) -> pd.DataFrame:
    contexts = rows.column("context")
    answers = []
    for row, (context, given) in enumerate(zip(contexts, rows.column("answers"), strict=True)):
        place = rows.place(row)
        if not isinstance(context, str):
            raise DataError(f"{place}: column 'context' holds {context!r} instead of a text")
        golds = _golds(given, place)
        if not golds and not task.unanswerable:
            raise DataError(
                f"{place}: the question has no answer; a split without answers can't be scored "
                "(or set `unanswerable: true` in the task card)"
            )
        for gold in golds:
            check_answer(gold, context, place)
        answers.append(golds)
    ids = None
    if "id" in rows.columns:
        ids = [str(value) for value in rows.column("id")]
        refuse_duplicates(ids, rows.origin, "question id")
    columns = {"question": strip_texts(rows, "question"), "context": contexts}
    return _frame(columns | {"answers": answers}, ids)


def _golds(given: Any, place: str) -> list[dict[str, Any]]:
    """Read both layouts: a dict of two lists (hub) and a list of dicts (SQuAD's own file)."""
    try:
        if isinstance(given, dict):
            given = [
                {"text": text, "answer_start": start}
                for text, start in zip(given["text"], given["answer_start"], strict=True)
            ]
        return [{"text": str(a["text"]), "start": int(a["answer_start"])} for a in given]
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{place}: answers must have `text` and `answer_start`, not {given!r}"
        ) from None


def check_answer(gold: Mapping[str, Any], context: str, place: str) -> None:
    """Refuse an answer whose text is not where its offset says."""
    text, start = gold["text"], gold["start"]
    if not text.strip() or start < 0 or context[start : start + len(text)] != text:
        raise DataError(
            f"{place}: answer {text!r} is not at character {start} of its context; there is "
            f"{context[max(start, 0) : max(start, 0) + len(text)]!r}. Correct the file"
        )


def refuse_duplicates(ids: list[str], origin: str, what: str) -> None:
    """Raise DataError naming the first id that occurs twice."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for identifier in ids:
        if identifier in seen:
            raise DataError(f"{origin}: {what} {identifier!r} occurs twice; ids must be unique")
        seen.add(identifier)
