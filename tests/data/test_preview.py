"""An example as a checkpoint reads it."""

from __future__ import annotations

import pandas as pd
import pytest
from transformers import PreTrainedTokenizerFast

from harness.data.frames import Collection, Corpus
from harness.data.preview import made_up_example, preview, preview_tokens
from harness.tasks import load_tasks
from tests.data.conftest import make_task

SHIPPED = load_tasks()
BEIR = {"native": {"format": "beir", "folder": "shelf", "train": "train", "test": "test"}}


@pytest.mark.parametrize("name", list(SHIPPED))
def test_every_card_has_an_example(name: str, byte_level: PreTrainedTokenizerFast) -> None:
    card = SHIPPED[name]
    part = made_up_example(card)
    lines = preview(card, part)
    assert all(text for _, text in lines)
    assert "<" in lines[0][1]
    for _, tokens in preview_tokens(card, part, byte_level):
        assert tokens.endswith("</s>")


def test_a_template_is_filled_and_a_pair_stays_a_pair(wordpiece: PreTrainedTokenizerFast) -> None:
    mnli = preview(SHIPPED["mnli"], made_up_example(SHIPPED["mnli"]))
    assert mnli == [
        ("text", "Premise: <premise>\nHypothesis: <hypothesis>"),
        ("label", "entailment"),
    ]
    pair = make_task("sequence_classification", text=["a", "b"])
    part = made_up_example(pair)
    assert [label for label, _ in preview(pair, part)] == ["first text", "second text", "label"]
    ((_, tokens),) = preview_tokens(pair, part, wordpiece)
    assert tokens.startswith("[CLS]")
    assert tokens.count("[SEP]") == 2


def test_a_document_is_shown_beside_the_query_that_it_is_judged_for() -> None:
    part = Collection(
        pd.DataFrame({"id": ["a", "b"], "text": ["first", "second"]}),
        Corpus(pd.DataFrame({"id": ["x", "y"], "title": ["", "T"], "text": ["ex", "why"]})),
        pd.DataFrame(
            {"query_id": ["a", "b"], "document_id": ["gone", "y"], "relevance": [3, 2]},
        ),
    )
    assert preview(make_task("retrieval", data=BEIR), part) == [
        ("query", "second"),
        ("document", "T why"),
        ("relevance", "2 (document y)"),
    ]


def test_a_decoder_reads_a_pair_over_two_lines(byte_level: PreTrainedTokenizerFast) -> None:
    ((_, tokens),) = preview_tokens(SHIPPED["squad"], made_up_example(SHIPPED["squad"]), byte_level)
    assert "Ċ" in tokens  # the newline of byte-level vocabularies
