"""From rows to the standard columns of a kind."""

from __future__ import annotations

from typing import Any

import pytest

from harness.data.rows import Rows
from harness.data.standard import standard_frame
from harness.errors import DataError
from tests.data.conftest import make_task


def rows(**columns: list[Any]) -> Rows:
    return Rows(columns, "f", range(1, 100))


def test_texts_lose_white_space_at_their_ends_only() -> None:
    frame = standard_frame(
        make_task("sequence_classification"),
        rows(sentence=["it 's  fine . ", "\tbad"], label=["1", "0"], other=["x", "y"]),
    )
    assert frame.to_dict("list") == {
        "id": ["0", "1"],
        "sentence": ["it 's  fine .", "bad"],
        "label": [1, 0],
    }


def test_a_missing_text_or_column_is_named() -> None:
    task = make_task("sequence_classification")
    with pytest.raises(DataError, match="f:2: column 'sentence' holds None"):
        standard_frame(task, rows(sentence=["a", None], label=["1", "0"]))
    with pytest.raises(DataError, match="f:1: column 'sentence' holds nan instead of a text"):
        standard_frame(task, rows(sentence=[float("nan")], label=["1"]))
    with pytest.raises(DataError, match="f:1: column 'sentence' holds b'a' instead of a text"):
        standard_frame(task, rows(sentence=[b"a"], label=["1"]))
    words = make_task("token_classification")
    with pytest.raises(DataError, match="f:1: column 'tokens' holds None instead of a text"):
        standard_frame(words, rows(tokens=[["a", None]], tags=[["O", "O"]]))
    with pytest.raises(DataError, match="f: no column 'label'; it has 'sentence', 'gold'"):
        standard_frame(task, rows(sentence=["a"], gold=["1"]))
    with pytest.raises(DataError, match="no rows"):
        standard_frame(task, rows(sentence=[], label=[]))


def test_regression_reads_floats() -> None:
    frame = standard_frame(
        make_task("sequence_regression"), rows(sentence1=["a"], sentence2=["b"], label=["3.6"])
    )
    assert frame["label"].tolist() == [3.6]


def test_tags_may_be_names_numbers_or_declared_classes() -> None:
    task = make_task("token_classification")  # O, B-PER, I-PER, B-LOC, I-LOC
    words = [["Li", "Na", "ran"]]
    tags = ["B-PER", "I-PER", "O"]
    assert standard_frame(task, rows(tokens=words, tags=[tags]))["tags"].tolist() == [tags]
    assert standard_frame(task, rows(tokens=words, tags=[[1, 2, 0]]))["tags"].tolist() == [tags]
    names = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    declared = Rows({"tokens": words, "tags": [[3, 4, 0]]}, "f", class_names={"tags": names})
    assert standard_frame(task, declared)["tags"].tolist() == [tags]


def test_numbers_of_a_source_without_names_mean_what_the_card_says() -> None:
    numbers = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    task = make_task("token_classification", tag_numbers=numbers)
    numbered = rows(tokens=[["Li", "Na", "ran"]], tags=[[3, 4, 0]])
    assert standard_frame(task, numbered)["tags"].tolist() == [["B-PER", "I-PER", "O"]]


def test_declared_tags_that_the_card_lacks_are_named() -> None:
    names = {"tags": ("O", "B-PERSON", "I-PERSON", "B-LOC", "I-LOC")}
    declared = Rows({"tokens": [["Li"]], "tags": [[1]]}, "f", class_names=names)
    with pytest.raises(DataError, match="tag 'B-PERSON' of word 1 is unknown"):
        standard_frame(make_task("token_classification"), declared)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (["O"], "3 words but 1 tags"),
        (["O", "O", "B-ORG"], "tag 'B-ORG' of word 3 is unknown: the task card has B-LOC"),
        ([0, 0, 7], "tag '7' of word 3 is unknown"),
        ([-1, -1, -1], "no tags; a split without labels"),
        (["O", "I-PER", "O"], "continues no entity, so this is not IOB2"),
        (["B-PER", "I-LOC", "O"], "continues no entity"),
        ("OOO", "must hold lists"),
    ],
)
def test_bad_tags_are_named(tags: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"f:1: .*{message}"):
        standard_frame(
            make_task("token_classification"), rows(tokens=[["a", "b", "c"]], tags=[tags])
        )


CONTEXT = " Zoë lives in Zürich."


def answered(answers: Any, *, unanswerable: bool = False) -> list[Any]:
    task = make_task("question_answering", unanswerable=unanswerable)
    frame = standard_frame(
        task, rows(id=["q7"], question=[" Where? "], context=[CONTEXT], answers=[answers])
    )
    assert frame["id"].tolist() == ["q7"]
    assert frame["question"].tolist() == ["Where?"]
    assert frame["context"].tolist() == [CONTEXT]  # offsets count from its own first character
    answers = frame["answers"].tolist()[0]
    assert isinstance(answers, list)
    return answers


def test_both_layouts_of_answers_are_read() -> None:
    expected = [{"text": "Zürich", "start": 14}]
    assert answered([{"text": "Zürich", "answer_start": 14}]) == expected
    assert answered({"text": ["Zürich"], "answer_start": [14]}) == expected
    assert answered({"text": [], "answer_start": []}, unanswerable=True) == []


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"text": "Zürich", "answer_start": 13}], "answer 'Zürich' is not at character 13"),
        ([{"text": "", "answer_start": 0}], "is not at character"),
        ([{"text": "Zoë", "answer_start": -20}], "is not at character"),
        ([], "the question has no answer"),
        (["Zürich"], "answers must have `text` and `answer_start`"),
        (None, "answers must have"),
    ],
)
def test_bad_answers_are_named(answers: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"f:1: .*{message}"):
        answered(answers)


def test_question_ids_must_be_unique() -> None:
    answer = [{"text": "Zoë", "answer_start": 1}]
    twice = rows(id=["a", "a"], question=["?", "?"], context=[CONTEXT] * 2, answers=[answer] * 2)
    with pytest.raises(DataError, match="question id 'a' occurs twice"):
        standard_frame(make_task("question_answering"), twice)
