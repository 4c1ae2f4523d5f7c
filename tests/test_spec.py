"""Run identity: what changes an id, what does not, and one id that must never change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from harness.spec import Checkpoint, Recipe, Retrieval, Run, Task, canonical_json

CARD = {
    "name": "sst2",
    "kind": "sequence_classification",
    "description": "Is a sentence from a film review negative or positive?",
    "data": {"native": {"format": "glue_tsv", "train": "train.tsv", "test": "dev.tsv"}},
    "text": ["sentence"],
    "labels": ["negative", "positive"],
    "metrics": ["accuracy"],
}


def task(**changes: object) -> Task:
    return TypeAdapter(Task).validate_python(CARD | changes)


def checkpoint(**changes: object) -> Checkpoint:
    return Checkpoint(**({"name": "a", "path": "/a", "fingerprint": "0123456789abcdef"} | changes))


def run(**changes: object) -> Run:
    parts = {
        "task": task(),
        "checkpoint": checkpoint(),
        "recipe": Recipe(learning_rate=2e-5),
        "seed": 0,
    }
    return Run(**(parts | changes))


def test_the_id_of_one_run_is_pinned() -> None:
    """If this fails, every finished study would be run again: raise PROTOCOL only on purpose."""
    assert run().run_id == "db651915792443be"


def test_prose_names_and_metrics_do_not_change_the_id() -> None:
    other = run(
        task=task(description="other", notes="n", licence="l", citation="c", metrics=["mcc"]),
        checkpoint=checkpoint(name="b", path="/b", columns={"size": "1b"}, parameters=7),
    )
    assert other.run_id == run().run_id


@pytest.mark.parametrize(
    "changed",
    [
        {"task": task(labels=["positive", "negative"])},
        {"task": task(max_length=64)},
        {"task": task(splits={"limit": {"test": 10}})},
        {"checkpoint": checkpoint(fingerprint="f" * 16)},
        {"checkpoint": checkpoint(attention="causal")},
        {"checkpoint": checkpoint(pooling="last")},
        {"recipe": Recipe(learning_rate=3e-5)},
        {"recipe": Recipe(learning_rate=2e-5, precision="bf16")},
        {"recipe": Recipe(learning_rate=2e-5, dropout=0.0)},
        {"seed": 1},
    ],
)
def test_what_can_change_a_score_changes_the_id(changed: dict[str, object]) -> None:
    assert run(**changed).run_id != run().run_id


def test_a_knob_that_is_off_leaves_no_trace() -> None:
    assert "dropout" not in Recipe(learning_rate=1e-5).identity
    assert "max_length" not in task().identity


@given(st.floats(min_value=1e-9, max_value=1, allow_nan=False))
def test_equal_rates_have_equal_identities_however_they_are_written(rate: float) -> None:
    written = json.loads(f"{rate:.17g}")
    assert Recipe(learning_rate=rate).identity == Recipe(learning_rate=written).identity


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text()))
def test_canonical_json_does_not_depend_on_key_order(value: dict[str, object]) -> None:
    turned = dict(reversed(list(value.items())))
    assert canonical_json(value) == canonical_json(turned)
    assert json.loads(canonical_json(value)) == {k: v for k, v in value.items() if v is not None}


def test_a_changed_copy_has_an_identity_of_its_own() -> None:
    first = run()
    assert first.run_id
    other = first.model_copy(update={"seed": 1})
    assert other.run_id == run(seed=1).run_id != first.run_id


def test_values_are_frozen_and_refuse_unknown_keys() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Recipe(learning_rate=1e-5).seed = 3  # type: ignore[attr-defined]
    with pytest.raises(ValidationError, match="extra"):
        Recipe(learning_rate=1e-5, batchsize=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("rate", [0, -1e-5, float("nan"), float("inf")])
def test_a_rate_that_is_not_positive_and_finite_is_refused(rate: float) -> None:
    with pytest.raises(ValidationError):
        Recipe(learning_rate=rate)


@pytest.mark.parametrize(
    ("recipe", "examples", "steps"),
    [
        (Recipe(learning_rate=1e-5, max_steps=250), 7600, 250),
        (Recipe(learning_rate=1e-5, max_steps=1000, max_epochs=1), 7600, 238),
        (Recipe(learning_rate=1e-5, max_steps=100, max_epochs=1), 7600, 100),
        (Recipe(learning_rate=1e-5, max_steps=100, max_epochs=0.01), 320, 1),
    ],
)
def test_steps_end_at_the_first_of_both_limits(recipe: Recipe, examples: int, steps: int) -> None:
    assert recipe.total_steps(examples) == steps


def test_decay_ratio_belongs_to_the_wsd_schedule() -> None:
    with pytest.raises(ValidationError, match="decay_ratio"):
        Recipe(learning_rate=1e-5, decay_ratio=0.1)
    with pytest.raises(ValidationError, match="decay_ratio"):
        Recipe(learning_rate=1e-5, schedule="wsd")


def test_a_card_needs_a_source() -> None:
    with pytest.raises(ValidationError, match="hub"):
        task(data={})


def test_leaving_short_rows_out_changes_no_id() -> None:
    """Where such rows are refused there is no run, so what is read is the same with every run."""
    native = {"format": "glue_tsv", "train": "train.tsv", "test": "dev.tsv"}
    left_out = task(data={"native": native | {"short_rows": "leave_out"}})
    assert left_out.data.native.short_rows == "leave_out"
    assert left_out.identity == task().identity
    both = {"hub": {"path": "a/b"}, "native": native | {"columns": ["sentence", "label"]}}
    assert task(data=both).identity != task().identity
    assert task(data={"hub": {"path": "a/b"}}).identity != task().identity


def test_tag_names_are_o_then_begin_and_inside_of_each_type() -> None:
    card = {
        "name": "ner",
        "kind": "token_classification",
        "data": {"native": {"format": "conll", "train": "a", "test": "b"}},
        "labels": ["PER", "LOC"],
        "metrics": ["entity_f1"],
    }
    made = TypeAdapter(Task).validate_python(card)
    assert made.tag_names == ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


@pytest.mark.parametrize("kind", ["sequence_classification", "token_classification"])
def test_a_label_stands_once(kind: str) -> None:
    card = {
        "name": "small",
        "kind": kind,
        "data": {"hub": {"path": "a/b"}},
        "text": "sentence",
        "labels": ["PER", "LOC", "PER"],
        "metrics": ["accuracy"],
    }
    with pytest.raises(ValidationError, match="'PER' stands twice"):
        TypeAdapter(Task).validate_python(card)


SEARCH = {
    "name": "search",
    "kind": "retrieval",
    "data": {"native": {"format": "beir", "folder": "search", "train": "train", "test": "test"}},
    "metrics": ["nDCG@10"],
}
PASSAGES = {"long_documents": "max_passage"}
HARBOUR = {"native": {"format": "beir", "folder": "harbour"}}


def search(**changes: object) -> Retrieval:
    task = TypeAdapter(Task).validate_python(SEARCH | changes)
    assert isinstance(task, Retrieval)
    return task


def test_documents_are_truncated_by_default_and_saying_so_is_the_same_run() -> None:
    assert "long_documents" not in search().identity
    assert search(long_documents="truncate").identity == search().identity
    ids = {search(**card).identity for card in ({}, PASSAGES, PASSAGES | {"passage_overlap": 0})}
    assert len(ids) == 3
    assert [search().overlap_of_passages(split) for split in ("train", "test")] == [None, None]


def test_a_collection_cuts_documents_as_its_task_does_unless_it_says_otherwise() -> None:
    collections = {
        "same": HARBOUR,
        "cut": HARBOUR | {"long_documents": "truncate"},
        "own": HARBOUR | PASSAGES | {"passage_overlap": 4},
    }
    task = search(**PASSAGES, passage_overlap=7, collections=collections)
    overlaps = {split: task.overlap_of_passages(split) for split in ("train", "test", *collections)}
    assert overlaps == {"train": None, "test": 7, "same": 7, "cut": None, "own": 4}
    assert search(**PASSAGES).overlap_of_passages("validation") == 32
    only = search(collections={"long": HARBOUR | PASSAGES})
    assert [only.overlap_of_passages(split) for split in ("test", "long")] == [None, 32]


@pytest.mark.parametrize("choice", [{}, {"long_documents": "truncate"}])
def test_an_overlap_without_passages_is_refused(choice: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="`long_documents: max_passage`, and only there"):
        search(**choice, passage_overlap=4)
    with pytest.raises(ValidationError, match="`long_documents: max_passage`, and only there"):
        search(collections={"harbour": HARBOUR | choice | {"passage_overlap": 4}})
