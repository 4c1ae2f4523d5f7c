from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from harness.data.encode import Encoded, EncodedCollection
from harness.data.frames import Collection, Corpus
from harness.models.batch import collate
from harness.models.decode import choose_answers, choose_tags, mark_answers
from harness.models.heads import build_head
from harness.predict import predict
from harness.predictions import COLUMNS
from harness.seeding import torch_generator
from tests.models.tiny import (
    ANSWERS,
    CLASSES,
    NUMBER,
    RANKING,
    TAGS,
    encoded_texts,
    lengths_of,
    recipe,
    tiny_bert,
)

LENGTHS = lengths_of(9)


def run(backbone, task, part, encoded, max_tokens=24, **more):
    chosen = recipe(**more)
    head = build_head(
        task, 32, torch_generator(0, "head"), initializer_range=0.5, answers=chosen.head
    )
    frames = predict(
        backbone,
        head,
        task,
        {"test": part},
        {"test": encoded},
        chosen,
        device="cpu",
        max_tokens=max_tokens,
    )
    assert list(frames) == ["test"]
    return head, frames["test"]


def ids(count: int) -> list[str]:
    return [f"e{number}" for number in range(count)]


def test_predictions_come_in_the_order_of_the_split_and_do_not_depend_on_the_budget(tmp_path):
    backbone = tiny_bert(tmp_path, dropout=0.5)
    part = pd.DataFrame({"id": ids(9), "label": np.arange(9) % 2})
    encoded = encoded_texts(LENGTHS)
    head, frame = run(backbone, CLASSES, part, encoded)
    assert list(frame.columns) == ["id", "gold", "prediction", "logits"]
    assert frame["id"].tolist() == ids(9)
    assert frame["gold"].tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    _, other = run(backbone, CLASSES, part, encoded, max_tokens=1000)
    logits = np.stack(frame["logits"])
    np.testing.assert_allclose(logits, np.stack(other["logits"]), atol=1e-5)
    with torch.no_grad():
        for row in range(9):
            batch = collate(encoded, np.array([row]), backbone.layout("cpu"))
            alone = head(backbone.hidden(batch), batch)
            np.testing.assert_allclose(logits[row], alone[0].numpy(), atol=1e-5)
    assert frame["prediction"].tolist() == logits.argmax(1).tolist()
    assert frame["logits"][0].dtype == np.float32
    assert frame["prediction"].dtype == np.int64


def test_a_regression_predicts_numbers(tmp_path):
    part = pd.DataFrame({"id": ids(9), "label": np.linspace(0, 1, 9)})
    _, frame = run(tiny_bert(tmp_path), NUMBER, part, encoded_texts(LENGTHS))
    assert list(frame.columns) == ["id", "gold", "prediction"]
    assert frame["prediction"].dtype == np.float64
    assert frame["prediction"].nunique() == 9


def test_predictions_in_bf16_are_not_rounded_to_bf16(tmp_path):
    part = pd.DataFrame({"id": ids(9), "label": np.linspace(0, 1, 9)})
    backbone = tiny_bert(tmp_path)
    _, frame = run(backbone, NUMBER, part, encoded_texts(LENGTHS), precision="bf16")
    values = torch.tensor(frame["prediction"].to_numpy())
    assert (values != values.bfloat16().double()).any()


def tag_windows() -> Encoded:
    """Four words in two windows that share word 2; two words of which no window shows the last."""
    return Encoded(
        token_ids=np.arange(1, 8, dtype=np.int32),
        starts=np.array([0, 3, 5, 7]),
        example=np.array([0, 0, 1]),
        type_ids=None,
        targets={
            "word": np.array([0, 1, 2, 2, 3, 0, -1], dtype=np.int32),
            "tag": np.zeros(7, dtype=np.int16),
            "context": np.array([0, 1, 0, 1, 0, 0, -1], dtype=np.int32),
        },
        counts={},
    )


def test_a_word_takes_its_tag_from_the_window_with_most_context():
    classes = np.array([1, 0, 1, 2, 1, 2, 0])
    tags, unseen = choose_tags(tag_windows(), classes, np.array([4, 2]), TAGS.tag_names)
    assert tags == [["B-P", "O", "I-P", "B-P"], ["I-P", "O"]]
    assert unseen.tolist() == [0, 1]


def test_a_sentence_without_words_has_no_tags():
    encoded = tag_windows()
    tags, unseen = choose_tags(encoded, np.ones(7, int), np.array([4, 2, 0]), TAGS.tag_names)
    assert tags[2] == []
    assert unseen.tolist() == [0, 1, 0]


def test_every_word_gets_one_tag(tmp_path):
    part = pd.DataFrame(
        {"id": ["a", "b"], "words": [list("abcd"), list("ab")], "tags": [["O"] * 4, ["O"] * 2]}
    )
    _, frame = run(tiny_bert(tmp_path), TAGS, part, tag_windows(), max_tokens=3)
    assert list(frame.columns) == ["id", "gold", "prediction", "unseen"]
    assert frame["prediction"].map(len).tolist() == [4, 2]
    assert frame["prediction"][1][1] == "O"
    assert frame["unseen"].tolist() == [0, 1]
    assert frame["gold"].tolist() == [["O"] * 4, ["O"] * 2]


def answer_windows() -> Encoded:
    """The first context in two windows, the second in one, the third shows nothing."""
    return Encoded(
        token_ids=np.arange(1, 9, dtype=np.int32),
        starts=np.array([0, 3, 5, 7, 8]),
        example=np.array([0, 0, 1, 2]),
        type_ids=None,
        targets={
            "start": np.zeros(4, dtype=np.int32),
            "end": np.zeros(4, dtype=np.int32),
            "null": np.zeros(4, dtype=np.int32),
            "context_begin": np.array([1, -1, 1, 0], dtype=np.int32),  # "sat." is token 2
            "gold_first": np.array([1, 1, -1, 0], dtype=np.int32),
            "gold_last": np.array([1, 1, -1, 0], dtype=np.int32),
            "offset_start": np.array([-1, 0, 4, -1, 8, -1, 0, -1], dtype=np.int32),
            "offset_end": np.array([-1, 3, 7, -1, 11, -1, 2, -1], dtype=np.int32),
        },
        counts={},
    )


def test_the_best_span_of_all_windows_wins_over_the_lowest_null_score():
    windows = np.array(
        [
            [4.0, 5.0, 1.0, -np.inf],  # best span
            [1, 1, 1, 0],
            [2, 1, 1, 0],
            [3.0, 9.0, 2.5, 1.0],  # null
        ]
    )
    texts, gaps, tokens = choose_answers(answer_windows(), windows, ["The cat sat.", "So", "x"])
    assert texts == ["sat", "So", ""]
    assert tokens == [[2], [0], []]
    assert gaps.tolist() == [-2.0, 1.5, 0.0]


def test_an_answer_is_the_text_of_the_context_between_its_tokens():
    windows = np.array([[6.0, 5.0, 1.0, -np.inf], [1, 1, 1, 0], [2, 1, 1, 0], [3.0] * 4])
    texts, _, tokens = choose_answers(answer_windows(), windows, ["The cat sat.", "So", "x"])
    assert texts == ["The cat", "So", ""]
    assert tokens == [[0, 1], [0], []]


CONTEXTS = ["The cat sat.", "So", "x"]


def marked(*odds: float):
    return mark_answers(answer_windows(), np.array(odds, dtype=np.float32), CONTEXTS)


def test_the_longest_likely_row_of_marked_tokens_is_the_answer():
    # The, cat | sat | So; the third context is shown by no window
    texts, gaps, tokens = marked(9, 1, -2, 9, 2.5, 9, 0.5, 9)
    assert texts == ["sat", "So", ""]
    assert tokens == [[0, 2], [0], []]
    assert gaps.tolist() == [-2.5, -0.5, 0.0]
    assert marked(9, 1, 2, 9, -1, 9, 0.5, 9)[0][0] == "The cat"
    assert marked(9, 1, 2, 9, 0.1, 9, 0.5, 9)[0][0] == "The cat sat"


def test_where_no_token_is_marked_the_likeliest_is_said_at_a_gap_above_0():
    texts, gaps, tokens = marked(9, -3, -1, 9, -2, 9, -4, 9)
    assert texts == ["cat", "So", ""]
    assert tokens == [[], [], []]
    assert gaps.tolist() == [1.0, 4.0, 0.0]


def test_contexts_of_which_nothing_is_shown_have_no_answer():
    encoded = answer_windows()
    blank = np.full(8, -1, dtype=np.int32)
    hidden = replace(encoded, targets=encoded.targets | {"offset_start": blank})
    texts, gaps, tokens = mark_answers(hidden, np.ones(8, dtype=np.float32), CONTEXTS)
    assert (texts, gaps.tolist(), tokens) == (["", "", ""], [0.0] * 3, [[], [], []])


def test_a_token_in_two_windows_counts_where_it_has_most_context():
    # two windows of one context: tokens 0 1 2, then 1 2 3
    encoded = Encoded(
        token_ids=np.arange(1, 7, dtype=np.int32),
        starts=np.array([0, 3, 6]),
        example=np.array([0, 0]),
        type_ids=None,
        targets={
            "context_begin": np.array([0, -1]),
            "offset_start": np.array([0, 2, 4, 2, 4, 6]),
            "offset_end": np.array([1, 3, 5, 3, 5, 7]),
        },
        counts={},
    )
    odds = np.array([-1, 1, -5, -9, 4, -1], dtype=np.float32)
    texts, _, tokens = mark_answers(encoded, odds, ["a b c d"])
    assert (texts, tokens) == (["b c"], [[1, 2]])


@pytest.mark.parametrize("head", [None, "tagger"])
def test_questions_are_answered_in_order_with_all_their_golds(tmp_path, head):
    part = pd.DataFrame(
        {
            "id": ["q1", "q2", "q3"],
            "question": ["a", "b", "c"],
            "context": ["The cat sat.", "So", "x"],
            "answers": [
                [{"text": "cat", "start": 4}, {"text": "The cat", "start": 0}],
                [],
                [{"text": "x", "start": 0}],
            ],
        }
    )
    backbone = tiny_bert(tmp_path)
    _, frame = run(backbone, ANSWERS, part, answer_windows(), head=head)
    assert ["id", *COLUMNS["question_answering"]] == list(frame.columns)
    assert frame["gold"].tolist() == [["cat", "The cat"], [], ["x"]]
    assert frame["prediction_text"][1:].tolist() == ["So", ""]
    assert frame["prediction_text"][0] in {"The", "The cat", "cat", "sat", "The cat sat"}
    assert np.isfinite(frame["null_gap"]).all()
    assert frame["null_gap"][0] != 0
    assert frame["gold_tokens"].tolist() == [[1], [], [0]]
    if head == "tagger":
        marks = frame["prediction_tokens"].map(len) > 0
        assert marks.tolist() == (frame["null_gap"] < 0).tolist()
        return
    words = dict(zip(["The", "The cat", "cat", "sat"], ([0], [0, 1], [1], [2]), strict=True))
    assert frame["prediction_tokens"].tolist() == [words[frame["prediction_text"][0]], [0], []]
    always = ANSWERS.model_copy(update={"unanswerable": False})
    _, frame = run(backbone, always, part, answer_windows())
    assert frame["null_gap"].tolist() == [0.0, 0.0, 0.0]


@pytest.fixture
def collection() -> Collection:
    return Collection(
        queries=pd.DataFrame({"id": ["q2", "q1"], "text": ["a", "b"]}),
        ranked=Corpus(pd.DataFrame({"id": ids(9), "title": "", "text": "x"})),
        qrels=pd.DataFrame(
            {
                "query_id": ["q1", "q2", "q1"],
                "document_id": ["e3", "e4", "e5"],
                "relevance": [1, 2, 0],
            }
        ),
    )


def test_documents_are_ranked_by_the_cosine_of_their_embeddings(tmp_path, collection, monkeypatch):
    monkeypatch.setattr("harness.search.SEARCH_PASSAGES", 3)
    backbone = tiny_bert(tmp_path)
    encoded = EncodedCollection(encoded_texts([4, 6], seed=1), encoded_texts(LENGTHS), "nine")
    _, frame = run(backbone, RANKING, collection, encoded, max_tokens=15)
    assert list(frame.columns) == ["id", "documents", "scores", "gold", "relevance"]
    assert frame["id"].tolist() == ["q2", "q1"]
    assert frame["gold"].tolist() == [["e4"], ["e3", "e5"]]
    assert frame["relevance"].tolist() == [[2], [1, 0]]

    def embed(part):
        batch = collate(part, np.arange(len(part)), backbone.layout("cpu"))
        with torch.no_grad():
            hidden = backbone.hidden(batch)
        mask = torch.ones(hidden.shape[:2]) if batch.mask_BL is None else batch.mask_BL
        pooled = (hidden * mask[..., None]).sum(1)
        return pooled / pooled.norm(dim=1, keepdim=True)

    cosine = (embed(encoded.queries) @ embed(encoded.documents).T).numpy()
    best = np.argsort(-cosine, axis=1)[:, :3]
    assert frame["documents"].tolist() == [[f"e{place}" for place in row] for row in best]
    expected = np.take_along_axis(cosine, best, 1)
    np.testing.assert_allclose(np.stack(frame["scores"]), expected, atol=1e-5)
    assert frame["scores"][0].dtype == np.float32


def test_predicting_after_pure_bf16_training_works_and_changes_no_weight(tmp_path):
    from harness.models.backbone import cast_parameters

    backbone = tiny_bert(tmp_path)
    cast_parameters(backbone.module, torch.bfloat16)
    before = {name: p.clone() for name, p in backbone.module.named_parameters()}
    part = pd.DataFrame({"id": ids(9), "label": np.arange(9) % 2})
    _, frame = run(backbone, CLASSES, part, encoded_texts(LENGTHS), precision="bf16_pure")
    assert np.isfinite(np.stack(frame["logits"])).all()
    assert all(torch.equal(before[name], p) for name, p in backbone.module.named_parameters())
