"""An example of a task as a checkpoint reads it: templates filled, then laid out in tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from harness.data.encode.layout import pair_layout, text_layout
from harness.data.frames import Collection, Corpus, is_among
from harness.data.templates import columns_of, render, render_template
from harness.data.tokenizers import bare_tokenizer
from harness.spec import (
    QuestionAnswering,
    Retrieval,
    SequenceClassification,
    SequenceRegression,
    Task,
    TokenClassification,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Lines = list[tuple[str, str]]


def made_up_example(task: Task) -> pd.DataFrame | Collection:
    """Give one example with the names of its columns in place of texts."""
    match task:
        case SequenceClassification() | SequenceRegression():
            columns = {name: [f"<{name}>"] for name in columns_of(task.text)}
            return pd.DataFrame(columns | {"label": [0]})
        case TokenClassification():
            tag = task.tag_names[1]
            return pd.DataFrame({"words": [["<word>", "<word>"]], "tags": [["O", tag]]})
        case QuestionAnswering():
            answers = [{"text": "<answer>", "start": 10}]
            context = "<context> <answer> <context>"
            return pd.DataFrame(
                {"question": ["<question>"], "context": [context], "answers": [answers]}
            )
        case Retrieval():
            return Collection(
                pd.DataFrame({"id": ["<query id>"], "text": ["<text>"]}),
                Corpus(pd.DataFrame({"id": ["<id>"], "title": ["<title>"], "text": ["<text>"]})),
                pd.DataFrame(
                    {"query_id": ["<query id>"], "document_id": ["<id>"], "relevance": [1]}
                ),
            )


def preview(task: Task, part: pd.DataFrame | Collection) -> Lines:
    """Say what the first example holds: each text that a checkpoint reads, and the gold."""
    if isinstance(part, Collection):
        judged = _first_judged(part)
        grade = f"{judged['relevance']} (document {judged['document_id']})"
        return [*_texts(task, part), ("relevance", grade)]
    row = part.iloc[0]
    match task:
        case SequenceClassification():
            gold = [("label", task.labels[int(row["label"])])]
        case SequenceRegression():
            gold = [("label", f"{row['label']:g}")]
        case TokenClassification():
            gold = [("tags", " ".join(row["tags"]))]
        case _:
            texts = [answer["text"] for answer in row["answers"]]
            gold = [("answers", " | ".join(texts) or "(none)")]
    return [*_texts(task, part), *gold]


def preview_tokens(
    task: Task, part: pd.DataFrame | Collection, tokenizer: PreTrainedTokenizerFast
) -> Lines:
    """Write the first example in tokens, in the layout that a run uses, uncut."""
    bare = bare_tokenizer(tokenizer)
    texts = _texts(task, part)
    if isinstance(task, Retrieval):
        inputs = [(label, [text]) for label, text in texts]
    else:
        inputs = [("input", [text for _, text in texts])]
    lines = []
    for label, pair in inputs:
        layout = text_layout(tokenizer) if len(pair) == 1 else pair_layout(tokenizer, bare)
        ids = list(layout.fixed[0])
        for text, fixed in zip(pair, layout.fixed[1:], strict=True):
            ids += [*bare.encode(text, add_special_tokens=False).ids, *fixed]
        lines.append((label, " ".join(tokenizer.convert_ids_to_tokens([int(i) for i in ids]))))
    return lines


def _first_judged(part: Collection) -> pd.Series:
    """Give the first judgement of a document that the corpus has."""
    there = is_among(part.qrels["document_id"], part.corpus["id"])
    return part.qrels.iloc[int(there.argmax())]


def _texts(task: Task, part: pd.DataFrame | Collection) -> Lines:
    if isinstance(part, Collection):
        assert isinstance(task, Retrieval)
        judged = _first_judged(part)
        query = part.queries[part.queries["id"] == judged["query_id"]]
        document = part.corpus[part.corpus["id"] == judged["document_id"]]
        return [
            ("query", render_template(task.query, query)[0]),
            ("document", render_template(task.document, document)[0]),
        ]
    first = part.head(1)
    match task:
        case SequenceClassification() | SequenceRegression():
            texts = [column[0] for column in render(task.text, first)]
            names = ["text"] if len(texts) == 1 else ["first text", "second text"]
            return list(zip(names, texts, strict=True))
        case TokenClassification():
            return [("words", " ".join(first["words"][0]))]
        case _:
            return [("question", first["question"][0]), ("context", first["context"][0])]
