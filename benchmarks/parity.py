"""Accuracy after the same fine-tuning: `Trainer` against harness, several seeds each.

    python benchmarks/parity.py --checkpoint MINILM [--data-root DATA] [--seeds 5]

SST-2: the same training rows, steps and numbers on both sides, tested on the 872 sentences of the
dev set. Prints mean accuracies with 95 % intervals (Student's t over seeds).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from sst2 import (
    DATA_ROOT,
    Material,
    as_dataset,
    load_material,
    make_trainer,
    trainer_model,
)
from transformers import DataCollatorWithPadding, set_seed

from harness.metrics import score
from harness.models.heads import build_head
from harness.predict import predict
from harness.seeding import torch_generator
from harness.spec import Recipe
from harness.train import train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data-root", type=Path, default=DATA_ROOT)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe(learning_rate=arguments.learning_rate, max_steps=arguments.steps)
    accuracies: dict[str, list[float]] = {"Trainer": [], "harness": []}
    with load_material(arguments.checkpoint, arguments.data_root) as material:
        for seed in range(arguments.seeds):
            theirs = trainer_accuracy(material, arguments.checkpoint, recipe, seed)
            ours = harness_accuracy(material, recipe, seed)
            accuracies["Trainer"].append(theirs)
            accuracies["harness"].append(ours)
            print(f"seed {seed}: Trainer {theirs:.4f}, harness {ours:.4f}", flush=True)
    print_intervals(accuracies)


def harness_accuracy(material: Material, recipe: Recipe, seed: int) -> float:
    """Fine-tune and test with harness."""
    backbone, task = material.backbone, material.task
    backbone.reset()
    head = build_head(task, backbone.hidden_size, torch_generator(seed, "head"))
    train(backbone, head, task, recipe, material.encoded["train"], seed=seed, device="cpu")
    frames = predict(
        backbone,
        head,
        task,
        {"test": material.examples.parts["test"]},
        {"test": material.encoded["test"]},
        recipe,
        device="cpu",
        max_tokens=4096,
    )
    return score(task, frames["test"].assign(split="test"))["test"]["accuracy"]


def trainer_accuracy(material: Material, checkpoint: Path, recipe: Recipe, seed: int) -> float:
    """Fine-tune and test with `Trainer`, dynamic padding."""
    set_seed(seed)  # before the head is made: its weights depend on it
    model = trainer_model(checkpoint)
    test = as_dataset(material.encoded["test"])
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(
            model,
            recipe,
            folder,
            seed,
            train_dataset=as_dataset(material.encoded["train"]),
            data_collator=DataCollatorWithPadding(material.tokenizer),
        )
        trainer.train()
        logits = trainer.predict(test).predictions
    return float((logits.argmax(1) == np.array(test["labels"])).mean())


def print_intervals(accuracies: dict[str, list[float]]) -> None:
    """Print both means with their intervals, the difference, and whether the intervals overlap."""
    intervals = {}
    for name, values in accuracies.items():
        half = 0.0
        if len(values) > 1:
            half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
        mean = float(np.mean(values))
        intervals[name] = (mean - half, mean + half)
        print(f"{name:<8} {mean:.4f} +/- {half:.4f} (n = {len(values)})")
    ours, theirs = accuracies["harness"], accuracies["Trainer"]
    print(f"difference (harness - Trainer) {np.mean(ours) - np.mean(theirs):+.4f}")
    (a, b), (c, d) = intervals["harness"], intervals["Trainer"]
    print("the intervals overlap" if a <= d and c <= b else "the intervals do not overlap")


if __name__ == "__main__":
    main()
