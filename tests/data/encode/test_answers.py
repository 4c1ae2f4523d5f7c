"""Questions and contexts to features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from transformers import PreTrainedTokenizerFast

from harness.data.encode.answers import encode_questions
from harness.data.features import Encoded
from harness.errors import DataError
from harness.spec import QuestionAnswering
from tests.data.conftest import make_task

CONTEXT = (
    "The  Normans — Émile said — were the people who, in the 1000's, gave their name to Normandy;\n"
    "a region in France. “Zürich” is not, but 2005 was a year: $12.50, naïve 日本 (bears)."
)
SPANS = [
    "Normans",
    "Émile",
    "the 1000's",
    "Normandy",
    "“Zürich”",
    "Zürich",
    "2005",
    "日本",
    "bears",
]


def answer_task(**card: Any) -> QuestionAnswering:
    task = make_task("question_answering", unanswerable=True, **card)
    assert isinstance(task, QuestionAnswering)
    return task


def frame(spans: list[str], context: str = CONTEXT, question: str = "Who gave it?") -> pd.DataFrame:
    answers = [[{"text": s, "start": context.index(s)}] if s else [] for s in spans]
    return pd.DataFrame(
        {"question": [question] * len(spans), "context": [context] * len(spans), "answers": answers}
    )


def read_answers(encoded: Encoded, examples: pd.DataFrame) -> list[tuple[int, str]]:
    """What the targets of each feature say, as text of the context; "" for the null token."""
    found = []
    for feature, row in enumerate(encoded.example.tolist()):
        start, end, null = (int(encoded.targets[n][feature]) for n in ("start", "end", "null"))
        text = ""
        if start != null:
            begin = encoded.targets["offset_start"][encoded.starts[feature] + start]
            stop = encoded.targets["offset_end"][encoded.starts[feature] + end]
            text = examples["context"][row][begin:stop]
        found.append((row, text))
    return found


def test_every_gold_span_comes_back_from_its_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    examples = frame(SPANS)
    encoded = encode_questions(answer_task(), examples, tokenizer, 512)
    assert read_answers(encoded, examples) == list(enumerate(SPANS))
    assert encoded.counts["unplaced"] == 0


def test_offsets_lose_no_character_of_a_token(tokenizer: PreTrainedTokenizerFast) -> None:
    encoded = encode_questions(answer_task(), frame([""]), tokenizer, 512)
    start, end = encoded.targets["offset_start"], encoded.targets["offset_end"]
    context = start >= 0
    assert (end[context] > start[context]).all()
    covered = {c for a, b in zip(start[context], end[context], strict=True) for c in range(a, b)}
    assert covered == {n for n, character in enumerate(CONTEXT) if not character.isspace()}
    texts = [CONTEXT[a:b] for a, b in zip(start[context], end[context], strict=True)]
    assert texts == [text.strip() for text in texts]


def test_a_question_without_answer_points_at_the_null_token(
    wordpiece: PreTrainedTokenizerFast, byte_level: PreTrainedTokenizerFast
) -> None:
    for tokenizer, null in ((wordpiece, 0), (byte_level, -1)):
        encoded = encode_questions(answer_task(), frame([""]), tokenizer, 512)
        expected = null % int(encoded.lengths[0])
        assert encoded.targets["null"].tolist() == [expected]
        assert encoded.targets["start"].tolist() == encoded.targets["end"].tolist() == [expected]
        assert encoded.counts["unplaced"] == 0


def test_the_layout_is_the_question_then_the_context(
    wordpiece: PreTrainedTokenizerFast, byte_level: PreTrainedTokenizerFast
) -> None:
    examples = frame([""], "in France", "Who?")
    encoded = encode_questions(answer_task(), examples, wordpiece, 64)
    assert encoded.token_ids.tolist() == wordpiece("Who?", "in France")["input_ids"]
    assert encoded.type_ids is not None
    assert encoded.type_ids.tolist() == wordpiece("Who?", "in France")["token_type_ids"]
    encoded = encode_questions(answer_task(), examples, byte_level, 64)
    assert byte_level.decode(encoded.token_ids) == "Who?\nin France</s>"


def test_every_window_knows_the_tokens_of_the_gold_and_its_own_place_in_the_context(
    byte_level: PreTrainedTokenizerFast,
) -> None:
    context = "x" * 100 + " gold " + "x" * 100
    spans = [*["gold"] * 2, "", "x"]
    examples = frame(spans, context, "Who?")
    encoded = encode_questions(answer_task(stride=7), examples, byte_level, 64)
    whole = encode_questions(answer_task(), examples, byte_level, 4096)
    assert len(encoded) > 2 * len(spans)
    shift = whole.targets["context_begin"]
    golds = [whole.targets[name] - shift for name in ("start", "end")]
    for feature, row in enumerate(encoded.example):
        found = [encoded.targets[name][feature] for name in ("gold_first", "gold_last")]
        assert found == ([-1, -1] if spans[row] == "" else [gold[row] for gold in golds])
        tokens = slice(encoded.starts[feature], encoded.starts[feature + 1])
        positions = np.flatnonzero(encoded.targets["offset_start"][tokens] >= 0)
        places = positions - encoded.targets["context_begin"][feature]
        same = whole.token_ids[whole.starts[row] + shift[row] + places]
        assert same.tolist() == encoded.token_ids[tokens][positions].tolist()
        offsets = whole.targets["offset_start"][whole.starts[row] + shift[row] + places]
        assert offsets.tolist() == encoded.targets["offset_start"][tokens][positions].tolist()


def test_windows_share_the_stride_and_cover_the_context(tokenizer: PreTrainedTokenizerFast) -> None:
    context = " ".join(f"w{number}" for number in range(100))
    examples = frame(["w50"], context)
    encoded = encode_questions(answer_task(stride=7), examples, tokenizer, 64)
    assert len(encoded) >= 3
    assert encoded.lengths.max() <= 64
    start = encoded.targets["offset_start"]
    spans = [
        [int(offset) for offset in start[a:b] if offset >= 0]
        for a, b in zip(encoded.starts[:-1], encoded.starts[1:], strict=True)
    ]
    whole = encode_questions(answer_task(), examples, tokenizer, 4096)
    every = [int(offset) for offset in whole.targets["offset_start"] if offset >= 0]
    assert {offset for span in spans for offset in span} == set(every)
    answers = [text for _, text in read_answers(encoded, examples)]
    assert set(answers) == {"", "w50"}
    # A window that shows only a part of the answer has none.
    begin = context.index("w50")
    wanted = {offset for offset in every if begin <= offset < begin + 3}
    for span, text in zip(spans, answers, strict=True):
        assert (text == "w50") == (wanted <= set(span))


def test_neighbours_share_exactly_the_stride_but_at_most_half_a_window(
    byte_level: PreTrainedTokenizerFast,
) -> None:
    examples = frame([""], "x" * 500, "?")
    for stride, shared in ((7, 7), (1000, 30)):
        encoded = encode_questions(answer_task(stride=stride), examples, byte_level, 64)
        start = encoded.targets["offset_start"]
        first = [n for n in start[: encoded.starts[1]] if n >= 0]
        second = [n for n in start[encoded.starts[1] : encoded.starts[2]] if n >= 0]
        assert len(set(first) & set(second)) == shared
        assert len(first) == 61  # 64 less "?", newline and end token


def test_an_answer_that_fits_no_window_is_counted(byte_level: PreTrainedTokenizerFast) -> None:
    context = "x" * 300
    examples = pd.DataFrame(
        {
            "question": ["?"],
            "context": [context],
            "answers": [[{"text": context, "start": 0}]],
        }
    )
    encoded = encode_questions(answer_task(), examples, byte_level, 64)
    assert encoded.counts["unplaced"] == 1
    assert encoded.targets["start"].tolist() == encoded.targets["null"].tolist()


def test_a_long_question_leaves_half_for_the_context(byte_level: PreTrainedTokenizerFast) -> None:
    examples = frame(["bears"], "bears in France", "why " * 100)
    encoded = encode_questions(answer_task(), examples, byte_level, 40)
    assert encoded.counts["truncated"] == 1
    assert encoded.lengths.max() <= 40
    assert (0, "bears") in read_answers(encoded, examples)


def test_a_length_without_room_is_refused(wordpiece: PreTrainedTokenizerFast) -> None:
    with pytest.raises(DataError, match="max_length 6 leaves 3 tokens"):
        encode_questions(answer_task(), frame([""]), wordpiece, 6)
