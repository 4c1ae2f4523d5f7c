"""A worker turns runs into records; a fault in one touches no other."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.checkpoints import discover
from harness.execute import StudyLostError, WorkerLostError
from harness.execute.worker import Worker, _is_device_fault
from harness.ledger import RECORD_KEYS, read_ledger
from harness.metrics import score
from harness.predictions import read_predictions
from harness.spec import Checkpoint, Recipe, Run
from tests.small_world import SmallWorld

KINDS = ("toy_answers", "toy_entities", "toy_search", "toy_sentiment", "toy_similarity")
PHASES = {"load", "encode", "reset", "train", "predict", "score", "write", "total"}


def run_of(world: SmallWorld, task: str = "toy_sentiment", **changes: Any) -> Run:
    (run,) = world.grid(task).runs()
    recipe = run.recipe.model_copy(update=changes.pop("recipe", {}))
    return run.model_copy(update={"recipe": recipe} | changes)


@pytest.mark.parametrize("task", KINDS)
def test_a_run_of_each_kind_has_scores_that_its_predictions_give_again(
    world: SmallWorld, tmp_path: Path, task: str
) -> None:
    run = run_of(world, task)
    record = Worker(world.workplace(tmp_path)).execute(run)
    assert record["status"] == "ok", record["error"]
    assert read_ledger(tmp_path) == [json.loads(json.dumps(record))]
    predictions = read_predictions(tmp_path, run.run_id)
    assert list(predictions.columns[:2]) == ["split", "id"]
    assert record["scores"] == score(run.task, predictions)
    assert set(record["scores"]) == {"validation", "test"}
    assert run.task.main_metric in record["scores"]["test"]


def test_a_record_says_all_that_is_to_be_known(world: SmallWorld, tmp_path: Path) -> None:
    record = Worker(world.workplace(tmp_path)).execute(run_of(world))
    assert set(record) == set(RECORD_KEYS) - {"error", "source"}
    assert set(record["seconds"]) == PHASES
    assert record["steps"] == 6
    assert record["sees_future"] is True
    assert record["data_source"] == "native"
    assert set(record["splits"]) == {"train", "validation", "test"}
    assert {"harness", "torch", "transformers", "python", "numpy"} <= set(record["versions"])
    assert record["started"] < record["finished"]


def test_rows_that_were_left_out_are_counted_in_the_record(
    world: SmallWorld, tmp_path: Path
) -> None:
    shutil.copytree(world.folder / "data", tmp_path / "data")
    task = world.tasks["toy_sentiment"]
    card = task.model_dump(mode="json")
    card["data"]["native"]["short_rows"] = "leave_out"
    with (tmp_path / "data" / card["data"]["native"]["train"]).open("a") as file:
        file.write("a row without a label\nanother one\n")
    workplace = dataclasses.replace(world.workplace(tmp_path), data_root=tmp_path / "data")
    run = run_of(world).model_copy(update={"task": type(task).model_validate(card)})
    record = Worker(workplace).execute(run)
    assert record["status"] == "ok", record["error"]
    counts = {split: found.get("left_out") for split, found in record["counts"].items()}
    assert counts == {"train": 2, "validation": None, "test": 0, "trained": None}
    assert run.run_id == run_of(world).run_id


def test_a_warm_worker_adds_little_to_training_and_prediction(
    world: SmallWorld, tmp_path: Path
) -> None:
    worker = Worker(world.workplace(tmp_path))
    worker.execute(run_of(world))
    seconds = worker.execute(run_of(world, seed=1))["seconds"]
    assert seconds["total"] - seconds["train"] - seconds["predict"] - seconds["score"] < 0.3


def test_scores_do_not_depend_on_what_the_worker_did_before(
    world: SmallWorld, tmp_path: Path
) -> None:
    wanted = run_of(world)
    alone = Worker(world.workplace(tmp_path / "alone")).execute(wanted)
    worker = Worker(world.workplace(tmp_path / "after"))
    before = [
        run_of(world, "toy_entities"),
        run_of(world, seed=7),
        run_of(world, recipe={"precision": "bf16_pure"}),
        run_of(world, recipe={"dropout": 0.5}),
        run_of(world, recipe={"learning_rate": 1e30}),
    ]
    statuses = [worker.execute(run)["status"] for run in before]
    assert statuses == ["ok", "ok", "ok", "ok", "diverged"]
    after = worker.execute(wanted)
    assert after["scores"] == alone["scores"]
    one, two = (read_predictions(tmp_path / name, wanted.run_id) for name in ("alone", "after"))
    assert one.equals(two)


def test_a_run_that_diverges_has_a_step_and_no_scores(world: SmallWorld, tmp_path: Path) -> None:
    run = run_of(world, recipe={"learning_rate": 1e30})
    record = Worker(world.workplace(tmp_path)).execute(run)
    assert record["status"] == "diverged"
    assert "scores" not in record
    assert record["error"]["type"] == "DivergedError"
    step = record["error"]["step"]
    assert 1 <= step <= 6
    assert record["error"]["message"].startswith(f"diverged in step {step} of 6 in fp32: loss")
    assert not (tmp_path / "predictions").exists()


@pytest.mark.parametrize("task", KINDS)
def test_outputs_that_are_no_numbers_after_the_last_step_are_a_divergence(
    world: SmallWorld, tmp_path: Path, task: str
) -> None:
    # The loss of the only step is that of the checkpoint; what the step leaves is unfit for use.
    fatal = {"learning_rate": 1e30, "max_steps": 1, "warmup_ratio": 0.0}
    run = run_of(world, task, recipe=fatal)
    record = Worker(world.workplace(tmp_path)).execute(run)
    assert record["status"] == "diverged"
    assert record["error"]["step"] == 1
    told = "diverged in step 1 of 1 in fp32: the outputs after it are not finite"
    assert record["error"]["message"] == told
    assert "scores" not in record
    assert not (tmp_path / "predictions").exists()


def test_the_weights_of_a_head_depend_on_the_seed_of_its_run(
    world: SmallWorld, tmp_path: Path
) -> None:
    # So small a rate changes no weight: what differs is what the head began with.
    worker = Worker(world.workplace(tmp_path))
    logits = []
    for seed in (0, 1):
        run = run_of(world, seed=seed, recipe={"learning_rate": 1e-30})
        assert worker.execute(run)["status"] == "ok"
        logits.append(np.array(read_predictions(tmp_path, run.run_id)["logits"].tolist()))
    assert np.abs(logits[0] - logits[1]).mean() > 1e-3


def test_a_fault_is_the_record_of_its_run_alone(world: SmallWorld, tmp_path: Path) -> None:
    missing = Checkpoint(name="gone", path=str(tmp_path / "gone"), fingerprint="0" * 16)
    worker = Worker(world.workplace(tmp_path / "study"))
    records = [
        worker.execute(run)
        for run in (run_of(world), run_of(world, checkpoint=missing), run_of(world, seed=1))
    ]
    assert [record["status"] for record in records] == ["ok", "failed", "ok"]
    assert "scores" not in records[1]
    assert records[1]["error"]["type"] == "CheckpointError"
    assert "no such folder" in records[1]["error"]["message"]
    assert "Traceback" in records[1]["error"]["traceback"]


def test_data_that_are_gone_are_a_failed_run(world: SmallWorld, tmp_path: Path) -> None:
    workplace = dataclasses.replace(world.workplace(tmp_path), data_root=tmp_path / "nothing")
    record = Worker(workplace).execute(run_of(world))
    assert record["status"] == "failed"
    assert record["error"]["type"] == "AbsentDataError"


def test_an_attention_that_an_architecture_can_not_have_is_a_failed_run(
    world: SmallWorld, tmp_path: Path
) -> None:
    causal = Checkpoint(**(world.encoder.model_dump() | {"attention": "causal"}))
    worker = Worker(world.workplace(tmp_path))
    record = worker.execute(run_of(world, checkpoint=causal))
    assert (record["status"], record["error"]["type"]) == ("failed", "CheckpointError")
    assert worker.execute(run_of(world))["status"] == "ok"


def test_a_tokenizer_from_elsewhere_is_used_and_one_that_does_not_fit_is_refused(
    world: SmallWorld, tmp_path: Path
) -> None:
    bare = tmp_path / "run" / "checkpoint-5"
    shutil.copytree(world.encoder.path, bare)
    for file in bare.glob("*token*"):
        file.rename(bare.parent / file.name)
    (elsewhere,) = discover(bare).checkpoints
    assert elsewhere.tokenizer == str(bare.parent)
    assert elsewhere.fingerprint == world.encoder.fingerprint
    worker = Worker(world.workplace(tmp_path / "study"))
    assert worker.execute(run_of(world, checkpoint=elsewhere))["status"] == "ok"
    grown = json.loads((bare.parent / "tokenizer.json").read_text())
    vocabulary = grown["model"]["vocab"]
    grown["model"]["vocab"] = {
        word: number if number < 5 else number + 1000 for word, number in vocabulary.items()
    }
    (bare.parent / "tokenizer.json").write_text(json.dumps(grown))
    other = discover(bare).checkpoints[0]
    record = worker.execute(run_of(world, checkpoint=other))
    assert record["status"] == "failed"
    assert "needs the tokenizer that it was trained with" in record["error"]["message"]


def test_a_control_runs_with_weights_that_nobody_trained(world: SmallWorld, tmp_path: Path) -> None:
    trained, control = discover(world.encoder.path, random_init=True).checkpoints
    worker = Worker(world.workplace(tmp_path))
    records = [worker.execute(run_of(world, checkpoint=item)) for item in (trained, control)]
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert [record["checkpoint"] for record in records] == ["encoder", "encoder@random"]
    assert records[0]["run_id"] != records[1]["run_id"]
    again = Worker(world.workplace(tmp_path / "again")).execute(run_of(world, checkpoint=control))
    assert again["scores"] == records[1]["scores"]


def test_ctrl_c_leaves_no_record(world: SmallWorld, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    worker = Worker(world.workplace(tmp_path), interrupt)
    with pytest.raises(KeyboardInterrupt):
        worker.execute(run_of(world))
    assert read_ledger(tmp_path) == []


def test_the_threads_of_a_run_are_those_of_the_workplace(world: SmallWorld, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        worker = Worker(dataclasses.replace(world.workplace(tmp_path), threads=2))
        assert torch.get_num_threads() == 2
        assert worker.execute(run_of(world))["threads"] == 2
    finally:
        torch.set_num_threads(before)


def test_a_full_disk_is_no_fault_of_the_run(world: SmallWorld, tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("a file where the folder should be")
    with pytest.raises(StudyLostError, match=r"can't be stored: .*ledger.*same command again"):
        Worker(world.workplace(tmp_path)).execute(run_of(world))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_predictions_that_find_no_room_end_the_worker_and_leave_no_record(
    world: SmallWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("harness.predictions.os.fsync", refuse)
    with pytest.raises(StudyLostError, match=os.strerror(number)):
        Worker(world.workplace(tmp_path)).execute(run_of(world))
    assert read_ledger(tmp_path) == []
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_file_that_is_gone_is_the_fault_of_its_run_alone(
    world: SmallWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "no such file")

    monkeypatch.setattr("harness.execute.worker.write_predictions", refuse)
    assert Worker(world.workplace(tmp_path)).execute(run_of(world))["status"] == "failed"


def test_a_broken_cuda_context_is_told_from_a_full_card() -> None:
    assert _is_device_fault(RuntimeError("CUDA error: an illegal memory access was encountered"))
    assert not _is_device_fault(torch.OutOfMemoryError("CUDA out of memory"))
    assert not _is_device_fault(ValueError("no"))


def test_a_broken_cuda_context_is_recorded_and_ends_the_worker(
    world: SmallWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr("harness.execute.worker.train", break_down)
    with pytest.raises(WorkerLostError, match="device-side assert"):
        Worker(world.workplace(tmp_path)).execute(run_of(world))
    assert [record["status"] for record in read_ledger(tmp_path)] == ["failed"]


def test_a_recipe_of_few_epochs_takes_few_steps(world: SmallWorld, tmp_path: Path) -> None:
    recipe = Recipe(learning_rate=1e-3, max_steps=1000, max_epochs=0.05, batch_size=8)
    run = run_of(world).model_copy(update={"recipe": recipe})
    record = Worker(world.workplace(tmp_path)).execute(run)
    assert record["steps"] == recipe.total_steps(record["counts"]["train"]["features"])
