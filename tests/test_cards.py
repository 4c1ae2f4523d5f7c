"""Every shipped card: it loads, its template renders, its metrics parse, and it says what it is."""

from __future__ import annotations

import pandas as pd
import pytest
from pydantic import TypeAdapter

from harness.data.lengths import effective_max_length
from harness.data.splits import hold_out
from harness.data.templates import columns_of, render, render_template
from harness.grid import Grid, find_grid_file
from harness.metrics import check_metrics
from harness.shipped import shipped_folder
from harness.spec import (
    HoldOut,
    QuestionAnswering,
    Retrieval,
    SequenceClassification,
    SequenceRegression,
    Task,
    TokenClassification,
)
from harness.tasks import load_task_file, load_tasks
from harness.yamlio import load_yaml

CARDS = sorted(shipped_folder("tasks").glob("*.yaml"))
PAPER = {
    "sst2", "mnli", "qqp", "conll2003", "ontonotes5", "uner_en", "squad", "squad_v2", "record",
    "msmarco",
}  # fmt: skip
OTHERS = {
    "cola", "mrpc", "rte", "qnli", "wnli", "stsb", "boolq", "cb", "wnut17", "cranfield",
    "nfcorpus", "scifact",
}  # fmt: skip


@pytest.fixture(params=CARDS, ids=[path.stem for path in CARDS])
def card(request: pytest.FixtureRequest) -> Task:
    return load_task_file(request.param)


def test_the_tasks_of_the_paper_and_the_usual_ones_are_there() -> None:
    assert {path.stem for path in CARDS} == PAPER | OTHERS


def test_the_grid_of_the_paper_has_all_its_tasks() -> None:
    grid = load_yaml(find_grid_file("lr_seed"), TypeAdapter(Grid))
    assert set(grid.tasks) == PAPER
    msmarco = load_tasks()["msmarco"]
    assert msmarco.further == ("dl20", "nq", "mldr_en")


def test_a_card_says_what_it_is_whose_it_is_and_what_is_odd(card: Task) -> None:
    assert card.description.endswith((".", "?"))
    assert card.licence
    assert card.citation
    assert card.notes
    assert card.data.native is not None
    assert card.data.hub is not None or "Native files only" in card.notes
    assert card.home is None


def test_its_metrics_parse(card: Task) -> None:
    check_metrics(card)


def test_its_text_renders(card: Task) -> None:
    match card:
        case SequenceClassification() | SequenceRegression():
            frame = pd.DataFrame({name: [f"<{name}>"] for name in columns_of(card.text)})
            texts = [column[0] for column in render(card.text, frame)]
            assert all(f"<{name}>" in "".join(texts) for name in frame)
        case Retrieval():
            frame = pd.DataFrame({"title": ["<title>"], "text": ["<text>"]})
            assert "<text>" in render_template(card.query, frame)[0]
            for split in ("test", *card.further):
                assert "<text>" in render_template(card.document_template(split), frame)[0]
        case TokenClassification() | QuestionAnswering():
            assert not hasattr(card, "text")


def test_labels_and_tags_stand_once(card: Task) -> None:
    labels = getattr(card, "labels", ())
    assert len(set(labels)) == len(labels)
    if isinstance(card, TokenClassification) and card.tag_numbers:
        assert set(card.tag_numbers) <= set(card.tag_names)
        assert card.tag_numbers[0] == "O"


def test_the_37_tags_of_ontonotes_are_all_named() -> None:
    card = load_tasks()["ontonotes5"]
    assert isinstance(card, TokenClassification)
    assert card.tag_numbers is not None
    assert set(card.tag_numbers) == set(card.tag_names)
    assert len(card.tag_names) == 37


@pytest.mark.parametrize(("split", "length"), [("test", 256), ("dl20", 256), ("mldr_en", 2048)])
def test_long_documents_keep_more_of_their_text(split: str, length: int) -> None:
    class Tokenizer:
        model_max_length = 10**30

    assert effective_max_length(load_tasks()["msmarco"], Tokenizer(), None, split) == length  # type: ignore[arg-type]


def test_a_card_states_the_size_of_its_splits_as_it_cuts_them(card: Task) -> None:
    assert card.size is not None
    examples = card.size.examples
    assert set(examples) == {"train", "validation", "test", *card.further}
    rule = card.splits.validation
    if isinstance(rule, HoldOut) and not isinstance(card, Retrieval):
        whole = examples["train"] + examples["validation"]
        kept, held = hold_out(whole, rule)
        assert (len(kept), len(held)) == (examples["train"], examples["validation"])
