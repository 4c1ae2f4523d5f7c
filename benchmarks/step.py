"""Training speed on one machine: `Trainer` as it is commonly used, against harness.

    python benchmarks/step.py --checkpoint MINILM [--data-root DATA]

All settings train the same SST-2 sentences once, with the same numbers, in turn, several rounds;
a ratio is the median over rounds of the speeds in one round. Both sides use the same threads.

`Trainer` groups by length within a quarter of the batches or 50 of them, whichever is less: with
fewer than 200 steps its groups are smaller than ours, and it pads more.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from sst2 import (
    DATA_ROOT,
    MAX_LENGTH,
    Material,
    as_dataset,
    load_material,
    make_trainer,
    tokens_per_example,
    trainer_model,
)
from transformers import DataCollatorWithPadding, default_data_collator

from harness.models.heads import build_head
from harness.seeding import torch_generator
from harness.spec import Recipe
from harness.train import train

OURS = "harness, bucketed"
GOALS = {
    "Trainer, padded to 128": 5.0,
    "Trainer, dynamic padding": 1.8,
    "Trainer, grouped by length": 1.0,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data-root", type=Path, default=DATA_ROOT)
    parser.add_argument("--steps", type=int, default=60, help="of each setting in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of both sides")
    parser.add_argument(
        "--only", default="", help="only `Trainer` settings with this in their name"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe(learning_rate=5e-5, max_steps=arguments.steps)
    limit = arguments.steps * recipe.batch_size
    with (
        load_material(arguments.checkpoint, arguments.data_root, limit) as material,
        tempfile.TemporaryDirectory() as folder,
    ):
        settings = trainer_settings(material, arguments.checkpoint, recipe, folder)
        settings = {name: run for name, run in settings.items() if arguments.only in name}
        settings |= harness_settings(material, recipe)
        print(
            f"{limit} sentences of {tokens_per_example(material.encoded['train']):.1f} tokens, "
            f"batches of {recipe.batch_size}, {arguments.threads} threads"
        )
        speeds: dict[str, list[float]] = {name: [] for name in settings}
        for number in range(arguments.rounds):
            for name, run in settings.items():
                speeds[name].append(limit / run())
            print(f"round {number + 1} of {arguments.rounds} done", flush=True)
    print_ratios(speeds)


def trainer_settings(
    material: Material, checkpoint: Path, recipe: Recipe, folder: str
) -> dict[str, Callable[[], float]]:
    """Give the three ways of using `Trainer`, each a function that trains and returns seconds."""
    encoded = material.encoded["train"]
    dynamic = DataCollatorWithPadding(material.tokenizer)
    padded_data = as_dataset(encoded, MAX_LENGTH, material.tokenizer.pad_token_id)
    data = as_dataset(encoded)
    model = trainer_model(checkpoint)
    pristine = {name: value.clone() for name, value in model.state_dict().items()}

    def setting(name: str) -> Callable[[], float]:
        padded = "128" in name

        def run() -> float:
            model.load_state_dict(pristine)
            trainer = make_trainer(
                model,
                recipe,
                folder,
                seed=0,
                train_sampling_strategy="group_by_length" if "grouped" in name else "random",
                train_dataset=padded_data if padded else data,
                data_collator=default_data_collator if padded else dynamic,
            )
            begin = time.perf_counter()
            trainer.train()
            return time.perf_counter() - begin

        return run

    return {name: setting(name) for name in GOALS}


def harness_settings(material: Material, recipe: Recipe) -> dict[str, Callable[[], float]]:
    """Give harness with both ways of batching."""

    def setting(chosen: Recipe) -> Callable[[], float]:
        def run() -> float:
            material.backbone.reset()
            head = build_head(
                material.task, material.backbone.hidden_size, torch_generator(0, "head")
            )
            begin = time.perf_counter()
            train(
                material.backbone,
                head,
                material.task,
                chosen,
                material.encoded["train"],
                seed=0,
                device="cpu",
            )
            return time.perf_counter() - begin

        return run

    padded = recipe.model_copy(update={"batching": "padded"})
    return {OURS: setting(recipe), "harness, padded": setting(padded)}


def print_ratios(speeds: dict[str, list[float]]) -> None:
    """Print median speeds, and by how much harness is faster."""
    print(f"{'setting':<28} {'examples/s':>10} {'harness is':>12} {'goal':>6}")
    for name, values in speeds.items():
        ratios = [ours / theirs for ours, theirs in zip(speeds[OURS], values, strict=True)]
        ratio = "" if name.startswith("harness") else f"{statistics.median(ratios):.2f} x"
        goal = f"{GOALS[name]:.1f} x" if name in GOALS else ""
        print(f"{name:<28} {statistics.median(values):>10.1f} {ratio:>12} {goal:>6}")


if __name__ == "__main__":
    main()
