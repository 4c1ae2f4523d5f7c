"""Gold answers and gold tags of the real extracts, through encoding and back, for each tokenizer.

What is measured. An answer survives when the span of tokens that stands for it is, in the text of
the context, the answer to the character. Where a gold begins or ends inside a token ("six", marked
inside "sixth"), no span of tokens is the gold; these are counted by the encoder as `inexact`, and
their span must be the shortest one that holds all of the gold. All others must be exact. That
nothing but such edges is in the way, `test_literal_answers.py` shows. Tags must come back the same,
all of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from transformers import PreTrainedTokenizerFast

from harness.data import load_examples
from harness.data.encode.answers import encode_questions
from harness.data.encode.tagging import encode_words
from harness.data.features import Encoded
from harness.data.formats.squad import read_squad
from harness.data.standard import standard_frame
from harness.data.tokenizers import bare_tokenizer
from harness.metrics.answers import normalise
from harness.models.decode import choose_tags
from harness.spec import QuestionAnswering, TokenClassification
from harness.tasks import load_tasks
from tests.data.conftest import make_task
from tests.real.shipped_layout import link_extracts
from tests.real.trained_tokenizers import MAKERS, train_tokenizer

pytestmark = pytest.mark.real

SQUAD = (
    "squad/train-v1.1.json",
    "squad/xquad.en.json",
    "squad_v2/train-v2.0.json",
    "squad_v2/dev-v2.0.json",
)


@pytest.fixture(scope="module")
def texts(real_data: Path) -> list[str]:
    """Part of the real text, to train on."""
    articles = json.loads((real_data / SQUAD[2]).read_text(encoding="utf-8"))["data"]
    return [p["context"] for article in articles for p in article["paragraphs"]][:300]


@pytest.fixture(scope="module", params=MAKERS, ids=[make.__name__ for make in MAKERS])
def tokenizer(
    request: pytest.FixtureRequest, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> PreTrainedTokenizerFast:
    return train_tokenizer(request.param, texts, tmp_path_factory.mktemp("tokenizer"))


def spans(encoded: Encoded, row_of: dict[int, set[tuple[int, int]]]) -> None:
    """Collect the target spans of each example, in characters, from every window that has one."""
    targets = encoded.targets
    for feature in np.flatnonzero(targets["start"] != targets["null"]):
        first = encoded.starts[feature]
        begin = int(targets["offset_start"][first + targets["start"][feature]])
        end = int(targets["offset_end"][first + targets["end"][feature]])
        row_of.setdefault(int(encoded.example[feature]), set()).add((begin, end))


@pytest.mark.parametrize("file", SQUAD)
def test_gold_answers_survive(
    file: str, real_data: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    card = load_tasks()["squad_v2"]
    assert isinstance(card, QuestionAnswering)
    frame = standard_frame(card, read_squad(real_data / file))
    encoded = encode_questions(card, frame, tokenizer, card.max_length or 0)
    assert encoded.counts["unplaced"] == 0
    found: dict[int, set[tuple[int, int]]] = {}
    spans(encoded, found)
    edges = _token_edges(tokenizer, frame["context"])
    exact = inexact = normalised = 0
    for row, golds in enumerate(frame["answers"]):
        if not golds:
            assert row not in found
            continue
        context = frame["context"][row]
        text = golds[0]["text"].strip()
        begin = golds[0]["start"] + golds[0]["text"].index(text)
        ((shown_begin, shown_end),) = found[row]  # the same in every window
        if context[shown_begin:shown_end] == text:
            exact += 1
            continue
        inexact += 1
        normalised += normalise(context[shown_begin:shown_end]) == normalise(text)
        # No token boundary lies between the gold's edge and that of its span: it can't be shorter.
        end = begin + len(text)
        starts, ends = edges[context]
        assert shown_begin <= begin < end <= shown_end
        assert not any(shown_begin < edge <= begin for edge in starts)
        assert not any(end <= edge < shown_end for edge in ends)
    answered = int(frame["answers"].map(bool).sum())
    assert exact + inexact == answered
    assert inexact == encoded.counts["inexact"]
    assert (exact + normalised) / answered > 0.99


def _token_edges(
    tokenizer: PreTrainedTokenizerFast, contexts: pd.Series
) -> dict[str, tuple[set[int], set[int]]]:
    """Where tokens begin and end in each context, by the tokenizers library alone."""
    bare = bare_tokenizer(tokenizer)
    edges = {}
    for context in dict.fromkeys(contexts):
        offsets = bare.encode(context, add_special_tokens=False).offsets
        starts, ends = set(), set()
        for begin, end in offsets:
            piece = context[begin:end]
            if piece.strip():
                starts.add(begin + len(piece) - len(piece.lstrip()))
                ends.add(begin + len(piece.rstrip()))
        edges[context] = (starts, ends)
    return edges


def test_a_small_window_with_a_stride_loses_no_short_answer(
    real_data: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    task = make_task("question_answering", unanswerable=True, stride=32)
    assert isinstance(task, QuestionAnswering)
    frame = standard_frame(task, read_squad(real_data / SQUAD[3]))
    short = frame["answers"].map(lambda golds: len(golds[0]["text"]) <= 32 if golds else True)
    frame = frame[short].reset_index(drop=True)
    encoded = encode_questions(task, frame, tokenizer, 128)
    assert len(encoded) > 1.5 * len(frame)
    assert encoded.counts["unplaced"] == 0


@pytest.mark.parametrize("name", ["wnut17", "uner_en"])
@pytest.mark.parametrize("length", [512, 40])
def test_gold_tags_survive(
    name: str,
    length: int,
    real_data: Path,
    tokenizer: PreTrainedTokenizerFast,
    tmp_path: Path,
) -> None:
    card = load_tasks()[name]
    assert isinstance(card, TokenClassification)
    parts = load_examples(card, link_extracts(real_data, tmp_path)).parts
    for frame in parts.values():
        assert isinstance(frame, pd.DataFrame)
        encoded = encode_words(card, frame, tokenizer, length)
        gold = np.where(encoded.targets["tag"] >= 0, encoded.targets["tag"], 0).astype(np.int64)
        words = frame["words"].map(len).to_numpy()
        tags, unseen = choose_tags(encoded, gold, words, card.tag_names)
        assert tags == frame["tags"].tolist()
        assert unseen.sum() == encoded.counts["unseen_words"]
        if length < 512:
            assert len(encoded) > len(frame)
