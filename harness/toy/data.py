"""The files of the made-up world: a corpus and one task of each kind, in native formats."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.seeding import numpy_generator
from harness.toy import text, words
from harness.toy.text import Pair, Rng

CORPUS_LINES = 4000
EXAMPLES = {"train": 512, "test": 200}
CONTEXTS = {"train": 200, "test": 60}
NOTICES = 150
QUERIES = {"train": 120, "test": 60}


def make_world(folder: Path, seed: int = 0) -> None:
    """Write `folder/data`: corpus.txt and a folder a task, the same bytes for the same seed."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    _write_lines(data / "corpus.txt", _corpus(numpy_generator(seed, "toy/corpus")))
    _write_sentiment(data / "toy_sentiment", seed)
    _write_similarity(data / "toy_similarity", seed)
    _write_entities(data / "toy_entities", seed)
    _write_answers(data / "toy_answers", seed)
    _write_search(data / "toy_search", seed)


def _corpus(rng: Rng) -> Iterable[str]:
    """Give the lines of the corpus: a short text each, of all that this world talks about."""
    for index in range(CORPUS_LINES):
        if index % 5 == 0:
            positive = bool(rng.integers(2))
            yield f"{text.remark(rng, positive)} {text.remark(rng, positive)}"
        elif index % 5 == 1:
            scene = text.scene(rng)
            yield f"{text.say(rng, scene)} {text.say(rng, text.change(rng, scene, keep=0.9))}"
        elif index % 5 == 2:
            yield " ".join(word for word, _ in text.news(rng))
        elif index % 5 == 3:
            first, second = text.facts(rng, text.pick(rng, words.FIRST_NAMES))[:2]
            yield f"{first.question} {first.answer}. {first.statement} {second.statement}"
        else:
            aim, thing = text.pick(rng, words.AIMS), text.pick(rng, words.OBJECTS)
            title, body = text.notice(rng, aim, thing)
            yield f"{text.question(rng, aim, thing)} {title}. {body}"


def _write_sentiment(folder: Path, seed: int) -> None:
    for role, count in EXAMPLES.items():
        rng = numpy_generator(seed, f"toy/sentiment/{role}")
        rows = ["sentence\tlabel"]
        for label in rng.permutation(count) % 2:
            name = ("negative", "positive")[label]
            rows.append(f"{text.remark(rng, positive=bool(label))}\t{name}")
        _write_lines(folder / f"{role}.tsv", rows)


def _write_similarity(folder: Path, seed: int) -> None:
    for role, count in EXAMPLES.items():
        rng = numpy_generator(seed, f"toy/similarity/{role}")
        rows = ["sentence1\tsentence2\tscore"]
        for _ in range(count):
            one = text.scene(rng)
            other = text.change(rng, one, keep=float(rng.random()))
            score = text.likeness(one, other)
            rows.append(f"{text.say(rng, one)}\t{text.say(rng, other)}\t{score:.1f}")
        _write_lines(folder / f"{role}.tsv", rows)


def _write_entities(folder: Path, seed: int) -> None:
    for role, count in EXAMPLES.items():
        rng = numpy_generator(seed, f"toy/entities/{role}")
        sentences = (text.news(rng) for _ in range(count))
        lines = ("\n".join(f"{word}\t{tag}" for word, tag in each) + "\n" for each in sentences)
        _write_lines(folder / f"{role}.txt", lines)


def _write_answers(folder: Path, seed: int) -> None:
    for role, count in CONTEXTS.items():
        rng = numpy_generator(seed, f"toy/answers/{role}")
        paragraphs = [_paragraph(rng, f"{role}-{index}") for index in range(count)]
        content = {"version": "v2.0", "data": [{"title": "people", "paragraphs": paragraphs}]}
        _write_lines(folder / f"{role}.json", [json.dumps(content, indent=1)])


def _paragraph(rng: Rng, name: str) -> dict[str, Any]:
    """Make three statements about two people, and two questions; every third has no answer."""
    people = [words.FIRST_NAMES[index] for index in rng.permutation(len(words.FIRST_NAMES))[:2]]
    one, other = (text.facts(rng, person) for person in people)
    said, unsaid = [one[0], one[1], other[0]], [one[2], one[3], other[1], other[2]]
    context = " ".join(said[index].statement for index in rng.permutation(3))
    questions = []
    for number in range(2):
        answerable = rng.random() < 2 / 3
        fact = text.pick(rng, said if answerable else unsaid)
        start = (
            context.index(fact.statement) + fact.statement.rindex(fact.answer) if answerable else 0
        )
        questions.append(
            {
                "id": f"{name}-{number}",
                "question": fact.question,
                "is_impossible": not answerable,
                "answers": [{"text": fact.answer, "answer_start": start}] if answerable else [],
            }
        )
    return {"context": context, "qas": questions}


def _write_search(folder: Path, seed: int) -> None:
    """Write notices and queries; queries of test ask for other subjects than those of train."""
    rng = numpy_generator(seed, "toy/search")
    pairs = list(itertools.product(words.AIMS, words.OBJECTS))
    subjects = [pairs[index] for index in rng.permutation(len(pairs))]
    corpus = []
    for index in range(NOTICES):
        title, body = text.notice(rng, *subjects[index % len(subjects)])
        corpus.append({"_id": f"d{index}", "title": title, "text": body})
    _write_lines(folder / "corpus.jsonl", map(json.dumps, corpus))
    third = len(subjects) // 3
    queries: list[dict[str, str]] = []
    for role, own in (("train", range(third, len(subjects))), ("test", range(third))):
        qrels = ["query-id\tcorpus-id\tscore"]
        for number in range(QUERIES[role]):
            index = own[number % len(own)]
            name = f"{role}{number}"
            queries.append({"_id": name, "text": _query(rng, subjects[index])})
            matches = range(index, NOTICES, len(subjects))
            qrels += [f"{name}\td{match}\t1" for match in matches]
        _write_lines(folder / "qrels" / f"{role}.tsv", qrels)
    _write_lines(folder / "queries.jsonl", map(json.dumps, queries))


def _query(rng: Rng, subject: tuple[Pair, Pair]) -> str:
    return text.question(rng, *subject)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
