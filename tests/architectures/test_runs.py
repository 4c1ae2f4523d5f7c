"""Each architecture runs each kind of task, and says the same of a text alone as in a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.execute.worker import Worker
from harness.predictions import read_predictions
from harness.spec import Checkpoint, Limit, Recipe, Run, Task
from tests.architectures.zoo import ZOO
from tests.small_world import SmallWorld

Make = Callable[..., Checkpoint]
KINDS = ("toy_sentiment", "toy_entities", "toy_answers", "toy_search")
FEW = Limit(train=40, validation=8, test=16)
RECIPE = Recipe(learning_rate=1e-3, max_steps=3, batch_size=8)


def few(task: Task) -> Task:
    """Take few examples of a task."""
    return task.model_copy(update={"splits": task.splits.model_copy(update={"limit": FEW})})


def assert_close(together: pd.DataFrame, alone: pd.DataFrame) -> None:
    """Compare predictions: numbers to 1e-4, all else exactly."""
    assert list(together.columns) == list(alone.columns)
    if "documents" in together:
        for one, other in zip(together.itertuples(), alone.itertuples(), strict=True):
            assert_same_ranking(one, other)
        together, alone = (frame.drop(columns="documents") for frame in (together, alone))
    for column in together.columns:
        for one, other in zip(together[column], alone[column], strict=True):
            if column in {"logits", "scores", "null_gap"}:
                np.testing.assert_allclose(one, other, atol=1e-4, rtol=0)
            else:
                assert _plain(one) == _plain(other)


def assert_same_ranking(one: Any, other: Any) -> None:
    """Compare the scores of documents; those of equal scores may have changed places."""
    scores = [dict(zip(ranking.documents, ranking.scores, strict=True)) for ranking in (one, other)]
    for mine, theirs in (scores, scores[::-1]):
        last = min(theirs.values())
        for document, score in mine.items():
            assert score == pytest.approx(theirs.get(document, last), abs=1e-4)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, np.ndarray | list) else value


@pytest.mark.slow
@pytest.mark.parametrize("task", KINDS)
def test_a_few_steps_of_each_kind_and_predictions_that_padding_does_not_change(
    world: SmallWorld, zoo: Make, tmp_path: Path, name: str, task: str
) -> None:
    run = Run(task=few(world.tasks[task]), checkpoint=zoo(name), recipe=RECIPE, seed=0)
    predictions = []
    for way, max_tokens in (("together", 16_384), ("alone", 1)):
        workplace = dataclasses.replace(world.workplace(tmp_path / way), batch_tokens=max_tokens)
        record = Worker(workplace).execute(run)
        assert record["status"] == "ok", record["error"]
        assert record["sees_future"] is ZOO[name].sees_future
        assert record["steps"] == 3
        assert set(record["scores"]) == {"validation", "test"}
        predictions.append(read_predictions(tmp_path / way, run.run_id))
    assert_close(*predictions)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3", "gemma3_text", "opt"])
def test_a_decoder_turned_bidirectional_runs_and_its_record_says_so(
    world: SmallWorld, zoo: Make, tmp_path: Path, name: str
) -> None:
    both_ways = zoo(name, attention="bidirectional")
    run = Run(task=few(world.tasks["toy_entities"]), checkpoint=both_ways, recipe=RECIPE, seed=0)
    record = Worker(world.workplace(tmp_path)).execute(run)
    assert record["status"] == "ok", record["error"]
    assert (record["attention"], record["sees_future"]) == ("bidirectional", True)
