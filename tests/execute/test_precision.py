"""What a file's number format and the precision of a run change, and what they do not."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

from harness.checkpoints import discover
from harness.execute.worker import Worker
from harness.predictions import read_predictions
from harness.spec import Checkpoint, Recipe, Run
from tests.small_world import SmallWorld

STEPS = 12


@pytest.fixture
def stored(world: SmallWorld, tmp_path: Path) -> dict[str, Checkpoint]:
    """Give the small encoder as it is, rounded to bf16, and rounded but written as fp32."""
    weights = load_file(Path(world.encoder.path) / "model.safetensors")
    rounded = {name: value.bfloat16() for name, value in weights.items()}
    forms = {
        "fp32": weights,
        "bf16": rounded,
        "rounded": {name: value.float() for name, value in rounded.items()},
    }
    found = {}
    for name, form in forms.items():
        shutil.copytree(world.encoder.path, tmp_path / name)
        save_file(form, tmp_path / name / "model.safetensors", {"format": "pt"})
        found[name] = discover(tmp_path / name).checkpoints[0]
    return found


def logits(world: SmallWorld, study: Path, checkpoint: Checkpoint, **recipe: object) -> np.ndarray:
    run = Run(
        task=world.tasks["toy_sentiment"],
        checkpoint=checkpoint,
        recipe=Recipe(**{"learning_rate": 1e-3, "max_steps": STEPS, "batch_size": 8} | recipe),
        seed=0,
    )
    record = Worker(world.workplace(study)).execute(run)
    assert record["status"] == "ok", record["error"]
    assert record["precision"] == run.recipe.precision
    frame: pd.DataFrame = read_predictions(study, run.run_id)
    return np.stack(frame["logits"].to_list())


def test_a_file_in_bf16_trains_in_fp32_from_the_same_numbers(
    world: SmallWorld, tmp_path: Path, stored: dict[str, Checkpoint]
) -> None:
    found = {
        name: logits(world, tmp_path / f"study-{name}", checkpoint)
        for name, checkpoint in stored.items()
    }
    assert np.array_equal(found["bf16"], found["rounded"])
    spread = found["fp32"].std()
    assert 0 < np.abs(found["fp32"] - found["bf16"]).max() < 0.1 * spread


def test_a_run_that_is_no_longer_finite_names_step_and_precision(
    world: SmallWorld, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(world.encoder.path, broken)
    weights = load_file(broken / "model.safetensors")
    name = next(name for name in weights if name.endswith("intermediate.dense.weight"))
    weights[name] = torch.full_like(weights[name], float("nan"))
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    run = Run(
        task=world.tasks["toy_sentiment"],
        checkpoint=discover(broken).checkpoints[0],
        recipe=Recipe(learning_rate=1e-3, max_steps=3, precision="bf16"),
        seed=0,
    )
    record = Worker(world.workplace(tmp_path / "study")).execute(run)
    assert record["status"] == "diverged"
    assert record["error"]["step"] == 1
    assert record["error"]["message"].startswith("diverged in step 1 of 3 in bf16: loss nan")
