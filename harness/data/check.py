"""What a task's data are like: labels, empty and repeated texts, leaks between splits, lengths.

Two texts are the same when their words are: white space is made even, case counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.data.frames import Collection, Examples, is_among
from harness.data.templates import columns_of, render_template
from harness.spec import (
    QuestionAnswering,
    Retrieval,
    SequenceClassification,
    SequenceRegression,
    Task,
    TokenClassification,
)

Texts = tuple[str, ...]
"""The texts of one example, in the order of the card: they and nothing else make it the same."""

PERCENTILES = (50, 90, 99, 100)
SHOWN = 3


@dataclass(frozen=True)
class Contradiction:
    """The texts of examples that differ in their labels, and these labels."""

    texts: Texts
    labels: tuple[str, ...]


@dataclass(frozen=True)
class PartCheck:
    """One split, or the corpus of one.

    `content` says its labels; `empty` counts examples with a text of no words, `repeated` those
    that stand before already, whatever their labels; `contradictions` counts the distinct texts
    that have several labels, and `contradiction` is the first of them; `words` are the numbers of
    words at `PERCENTILES`, `over` is the share with more words than the card's length has tokens:
    at least these will not fit; `left_out` counts rows of its file with too few fields, None where
    the card refuses them.
    """

    name: str
    examples: int
    content: str
    empty: int
    repeated: int
    words: tuple[int, ...]
    over: float | None
    left_out: int | None = None
    contradictions: int = 0
    contradiction: Contradiction | None = None


@dataclass(frozen=True)
class Leak:
    """What two splits share: whole examples, or single texts of them.

    `what` is `examples`, `texts` (distinct ones, in whatever field), or `questions` and `contexts`;
    `shown` are the first few.
    """

    first: str
    second: str
    what: str
    count: int
    shown: tuple[Texts, ...]


@dataclass(frozen=True)
class DataCheck:
    """All parts of a task, and what they share."""

    parts: tuple[PartCheck, ...]
    leaks: tuple[Leak, ...]


def check_examples(examples: Examples) -> DataCheck:
    """Measure every split, and compare each two of them."""
    task = examples.task
    texts = {split: example_texts(task, part) for split, part in examples.parts.items()}
    parts: list[PartCheck] = []
    corpora: dict[tuple[str, str, int | None], PartCheck] = {}
    for split, part in examples.parts.items():
        if isinstance(part, Collection):
            assert isinstance(task, Retrieval)
            asked = _measure(split, describe(task, part), texts[split], task.query_max_length)
            template, length = task.document_template(split), task.document_length(split)
            corpus = (part.corpus_fingerprint, template, length)
            if corpus not in corpora:  # splits may rank the same millions
                corpora[corpus] = _measure("", "", _documents(template, part.corpus), length)
            parts += [asked, replace(corpora[corpus], name=f"{split}: documents")]
            continue
        measured = _measure(split, describe(task, part), texts[split], task.max_length)
        labels = _labels(task, part)
        found = [] if labels is None else _contradictions(texts[split], labels)
        parts.append(
            replace(
                measured,
                left_out=examples.left_out.get(split),
                contradictions=len(found),
                contradiction=next(iter(found), None),
            )
        )
    leaks = [
        leak
        for first, second in combinations(texts, 2)
        for leak in _leaks(_groups(task), first, texts[first], second, texts[second])
    ]
    return DataCheck(tuple(parts), tuple(leaks))


def text_fields(task: Task) -> tuple[str, ...]:
    """Name what the texts of an example are."""
    match task:
        case SequenceClassification() | SequenceRegression():
            return columns_of(task.text)
        case TokenClassification():
            return ("words",)
        case QuestionAnswering():
            return ("question", "context")
        case Retrieval():
            return ("query",)


def _groups(task: Task) -> dict[str, tuple[int, ...]]:
    """Say which fields of an example are compared by themselves, and under what name."""
    if isinstance(task, QuestionAnswering):
        return {"questions": (0,), "contexts": (1,)}
    fields = text_fields(task)
    return {"texts": tuple(range(len(fields)))} if len(fields) > 1 else {}


def example_texts(task: Task, part: pd.DataFrame | Collection) -> list[Texts]:
    """Give the texts of each example (of each query, for retrieval), white space made even."""
    if isinstance(part, Collection):
        return [(_even(text),) for text in part.queries["text"]]
    if isinstance(task, TokenClassification):
        return [(" ".join(words),) for words in part["words"]]
    columns = [[_even(text) for text in part[name]] for name in text_fields(task)]
    return list(zip(*columns, strict=True))


def describe(task: Task, part: pd.DataFrame | Collection) -> str:
    """Say in a line which labels, tags, answers or judgements a split has."""
    if isinstance(part, Collection):
        judged = f"{len(part.qrels):,} judgements, {_counts(part.qrels['relevance'], 'grade ')}"
        lost = int((~is_among(part.qrels["document_id"], part.corpus["id"])).sum())
        return f"{judged}; {lost:,} of documents that the corpus lacks" if lost else judged
    match task:
        case SequenceClassification():
            counts = part["label"].value_counts()
            return ", ".join(f"{name} {counts.get(i, 0):,}" for i, name in enumerate(task.labels))
        case SequenceRegression():
            values = part["label"]
            return f"{values.min():g} to {values.max():g}, mean {values.mean():.3g}"
        case TokenClassification():
            tags = part["tags"].explode().dropna()
            counts = tags[tags.str.startswith("B-")].str.slice(2).value_counts()
            return ", ".join(f"{name} {counts.get(name, 0):,}" for name in task.labels)
        case QuestionAnswering():
            golds = part["answers"].map(len)
            answered, silent = int((golds > 0).sum()), int((golds == 0).sum())
            return f"{answered:,} with an answer ({int(golds.sum()):,} golds), {silent:,} without"
        case Retrieval():
            raise AssertionError("a retrieval task has collections")


def percentiles(lengths: NDArray[np.int64]) -> tuple[int, ...]:
    """Give the lengths at `PERCENTILES`: each is the length of some example."""
    return tuple(int(value) for value in np.percentile(lengths, PERCENTILES, method="higher"))


def _documents(template: str, corpus: pd.DataFrame) -> list[Texts]:
    """Give the rendered documents; one without title and text stays empty, template or not."""
    rendered = render_template(template, corpus)
    blank = (corpus["title"] + corpus["text"]).eq("")
    return [
        ("" if no_text else _even(text),) for text, no_text in zip(rendered, blank, strict=True)
    ]


def _measure(name: str, content: str, texts: Sequence[Texts], length: int | None) -> PartCheck:
    words = [[len(text.split()) for text in example] for example in texts]
    totals = np.array([sum(counts) for counts in words], dtype=np.int64)
    full = [example for example in texts if any(example)]
    return PartCheck(
        name=name,
        examples=len(texts),
        content=content,
        empty=sum(1 for counts in words if 0 in counts),
        repeated=len(full) - len(set(full)),
        words=percentiles(totals),
        over=None if length is None else float((totals > length).mean()),
    )


def _labels(task: Task, part: pd.DataFrame) -> list[str] | None:
    """Give the label of each example as the card names it; None where a text has more than one."""
    match task:
        case SequenceClassification():
            return [task.labels[index] for index in part["label"]]
        case SequenceRegression():
            return [f"{value:g}" for value in part["label"]]
        case _:
            return None


def _contradictions(texts: Sequence[Texts], labels: Sequence[str]) -> list[Contradiction]:
    """List the texts with several labels, both in the order of their rows."""
    found: dict[Texts, dict[str, None]] = {}
    for example, label in zip(texts, labels, strict=True):
        if any(example):
            found.setdefault(example, {})[label] = None
    return [Contradiction(text, tuple(seen)) for text, seen in found.items() if len(seen) > 1]


def _leaks(
    groups: dict[str, tuple[int, ...]],
    first: str,
    first_texts: Sequence[Texts],
    second: str,
    second_texts: Sequence[Texts],
) -> list[Leak]:
    known = set(first_texts)
    shared = [example for example in second_texts if example in known and any(example)]
    found = [Leak(first, second, "examples", len(shared), _first_few(shared))]
    for name, places in groups.items():
        known_texts = {example[place] for example in first_texts for place in places}
        texts = {example[place]: None for example in second_texts for place in places}
        both = [(text,) for text in texts if text and text in known_texts]
        found.append(Leak(first, second, name, len(both), _first_few(both)))
    return [leak for leak in found if leak.count]


def _first_few(texts: Iterable[Texts]) -> tuple[Texts, ...]:
    return tuple(list(dict.fromkeys(texts))[:SHOWN])


def _even(text: str) -> str:
    return " ".join(text.split())


def _counts(values: pd.Series, prefix: str) -> str:
    counts = values.value_counts().sort_index()
    return ", ".join(f"{prefix}{value}: {count:,}" for value, count in counts.items())
