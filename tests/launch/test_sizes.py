"""What a plan counts with: the data, or where they are not here the size that cards state."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from harness.data import Collection, load_examples
from harness.errors import AbsentDataError, DataError
from harness.launch.cost import TaskSize
from harness.launch.preflight import check_tasks
from harness.spec import Retrieval
from tests.data.conftest import make_task
from tests.small_world import SmallWorld

SIZE = {"examples": {"train": 900, "validation": 100, "test": 50}, "tokens": 20}
ROWS = "sentence\tlabel\n" + "".join(f"text {n}\t{n % 2}\n" for n in range(40))


def test_a_stated_size_counts_where_nothing_is_here_and_never_where_data_are(
    tmp_path: Path,
) -> None:
    task = make_task("sequence_classification", size=SIZE)
    absent = check_tasks([task], tmp_path)
    assert absent.sizes == {"small": TaskSize(900, 100, 50, 20)}
    assert "train.tsv, test.tsv not found" in absent.absent["small"]
    assert absent.fingerprints == {}
    with pytest.raises(DataError, match="not found"):
        absent.refuse_absent()
    for name in ("train.tsv", "test.tsv"):
        (tmp_path / name).write_text(ROWS)
    here = check_tasks([task], tmp_path)
    assert (here.absent, here.sizes["small"].train_examples) == ({}, 38)
    here.refuse_absent()


def test_a_stated_size_is_within_the_limits_of_the_card(tmp_path: Path) -> None:
    splits = {"limit": {"train": 10, "test": 7}}
    task = make_task("sequence_classification", size=SIZE, splits=splits, max_length=16)
    assert check_tasks([task], tmp_path).sizes["small"] == TaskSize(10, 100, 7, 16)


def test_the_documents_of_a_ranking_are_encoded_and_its_queries_predicted(tmp_path: Path) -> None:
    native = {"format": "beir", "folder": "x", "train": "train", "test": "test"}
    further = {"other": {"native": {"format": "beir", "folder": "y"}}}
    size = {
        "examples": {"train": 500, "validation": 10, "test": 20, "other": 30},
        "documents": {"validation": 1_000, "test": 2_000, "other": 3_000},
        "tokens": 60,
    }
    task = make_task(
        "retrieval",
        data={"native": native},
        collections=further,
        size=size,
        metrics=["nDCG@10"],
    )
    assert check_tasks([task], tmp_path).sizes["small"] == TaskSize(500, 10, 5_050, 60, 60)
    judged = task.model_copy(update={"corpus": "judged", "metrics": ("judged/nDCG@10",)})
    assert check_tasks([judged], tmp_path).sizes["small"] == TaskSize(500, 1_010, 5_050, 60, 60)
    less = check_tasks([task.with_further([])], tmp_path)
    assert less.sizes["small"] == TaskSize(500, 10, 2_020, 60, 30)


def test_files_of_which_some_are_here_are_a_fault_and_so_is_an_unknown_size(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError, match="not found") as caught:
        check_tasks([make_task("sequence_classification")], tmp_path)
    assert not isinstance(caught.value, AbsentDataError)
    (tmp_path / "train.tsv").write_text(ROWS)
    with pytest.raises(DataError, match=r"test\.tsv not found"):
        check_tasks([make_task("sequence_classification", size=SIZE)], tmp_path)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (SIZE | {"examples": {"train": 1, "test": 1}}, r"size\.examples: .* \(validation\)"),
        (SIZE | {"documents": {"test": 1}}, r"size\.documents: .* \(test\)"),
    ],
)
def test_a_size_has_a_count_for_every_split(size: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        make_task("sequence_classification", size=size)


def test_a_size_is_no_part_of_what_a_task_is() -> None:
    stated, bare = make_task("sequence_regression", size=SIZE), make_task("sequence_regression")
    assert stated.identity == bare.identity


def test_a_corpus_that_splits_share_is_counted_once(world: SmallWorld) -> None:
    card = world.tasks["toy_search"]
    assert isinstance(card, Retrieval)
    parts = load_examples(card, world.folder / "data").parts
    sides = [parts["validation"], parts["test"]]
    asked = [len(side.queries) for side in sides if isinstance(side, Collection)]
    documents = [len(side.corpus) for side in sides if isinstance(side, Collection)]
    assert card.corpus == "full"
    assert documents[0] == documents[1]
    size = check_tasks([card], world.folder / "data").sizes["toy_search"]
    assert size.queries == sum(asked)
    assert size.validation_examples + size.test_examples == sum(asked) + documents[0]
